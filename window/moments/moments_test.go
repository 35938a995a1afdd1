package moments_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// minute is the clock of a window of a minute: a period is 12 s, and a bin 23 ms.
var minute = moments.ClockOf(time.Minute, 0)

// start is the beginning of a counting period.
const start = window.Instant(1_800_000_000_000_000_000)

func ago(d time.Duration) moments.Bin { return minute.Bin(start.Add(-d)) }

func newDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// someList returns a list of up to most lumps before now.
func someList(dice *rand.Rand, now moments.Bin, most int) (l moments.List) {
	for range dice.IntN(most + 1) {
		l = moments.Sum(l, moments.List{{
			Bin:   now - moments.Bin(dice.IntN(1024)),
			Units: 1 + dice.Int64N(5),
		}})
	}
	return l
}

func TestBinsBegin(t *testing.T) {
	for _, length := range []time.Duration{
		6 * time.Second, 7001 * time.Millisecond, time.Minute,
		24 * time.Hour,
	} {
		c, dice := moments.ClockOf(length, 1234*time.Millisecond), newDice(1)
		for range 1000 {
			at := start.Add(time.Duration(dice.Int64N(int64(length))))
			b := c.Bin(at)
			if begins := c.Instant(b); begins > at || c.Bin(begins) != b || c.Bin(begins-1) != b-1 {
				t.Fatalf("%v: bin %d of %d begins at %d", length, b, at, begins)
			}
		}
		if period := uint32(int64(start.Add(c.Ahead())) / int64(
			window.CountingPeriod(length))); moments.Begin(period) != c.Bin(
			start)/moments.Parts*moments.Parts {
			t.Errorf("%v: the bins of period %d do not begin with it", length, period)
		}
	}
}

// TestSums: a list says of each bin what its parts say of it.
func TestSums(t *testing.T) {
	dice, now := newDice(2), ago(0)
	for range 300 {
		a, b := someList(dice, now, 8), someList(dice, now, 8)
		sum, lesser, greater := moments.Sum(a, b), moments.Lesser(a, b), moments.Greater(a, b)
		less := sum.Less(b)
		for at := now; at > now-1025; at-- {
			inA, inB := a.After(at), b.After(at)
			if sum.After(at) != inA+inB || lesser.After(at) != min(inA, inB) ||
				greater.After(at) != max(inA, inB) || less.After(at) != inA {
				t.Fatalf("%v and %v: sum %v, lesser %v, greater %v, sum less the second %v", a, b,
					sum, lesser, greater, less)
			}
		}
		for _, l := range []moments.List{sum, lesser, greater, less} {
			for n := range l {
				if l[n].Units <= 0 || n > 0 && l[n].Bin >= l[n-1].Bin {
					t.Fatalf("%v is no list", l)
				}
			}
		}
	}
}

// TestCoarseSaysNoMore: a coarse list says at its own bins what the fine one does, and nowhere
// more.
func TestCoarseSaysNoMore(t *testing.T) {
	dice := newDice(3)
	for range 300 {
		now := ago(time.Duration(dice.Int64N(int64(time.Minute))))
		fine := someList(dice, now, 200)
		coarse := moments.Coarse(fine, now)
		if len(coarse) > moments.MaxLumps+8 {
			t.Fatalf("%d lumps", len(coarse))
		}
		for at := now; at >= moments.Oldest(now); at-- {
			if coarse.After(at) > fine.After(at) {
				t.Fatalf("of %d: %d, and %d in the fine list", now-at,
					coarse.After(at), fine.After(at))
			}
		}
		for _, lump := range coarse {
			if coarse.After(lump.Bin) != fine.After(lump.Bin) {
				t.Fatalf("%d bins ago: %d, and %d in the fine list", now-lump.Bin,
					coarse.After(lump.Bin), fine.After(lump.Bin))
			}
		}
		if oldest := moments.Oldest(now); coarse.After(0) != fine.After(oldest) {
			t.Fatalf("%d of %d since the period before this one",
				coarse.After(0), fine.After(oldest))
		}
	}
}

func TestListsOfTheFutureAreNotBelieved(t *testing.T) {
	for off, want := range map[time.Duration]int{
		-time.Second: 1, 200 * time.Millisecond: 1,
		time.Second: 0,
	} {
		l := moments.List{{Bin: minute.Bin(start.Add(off)), Units: 1}}
		if got := minute.Believed(l, start); len(got) != want {
			t.Errorf("%v ahead: %v", off, got)
		}
	}
	if got := (moments.Clock{}).Believed(moments.List{{Bin: 1, Units: 1}}, start); got != nil {
		t.Errorf("a rule without lists believes %v", got)
	}
}

// TestSplitByMoments: what is known of an admission places it, and what is not known is at the
// beginning of its period.
func TestSplitByMoments(t *testing.T) {
	now := start.Add(6 * time.Second)
	period := uint32(minute.Bin(now) / moments.Parts)
	at := func(d time.Duration) moments.Bin { return minute.Bin(start.Add(d)) }
	known := moments.List{
		{Bin: at(5900 * time.Millisecond), Units: 2},
		{Bin: at(5800 * time.Millisecond), Units: 3},
	}
	fresh := window.RemoteDelta{
		Period:       period,
		PeriodTotals: window.PeriodTotals{Offered: 9, Admitted: 4, Times: 4 * 2000},
	}
	for _, c := range []struct {
		placed moments.List
		want   string
	}{
		{nil, "2 at 5.9s, 2 at 5.8s, 0 at 0s"},
		{moments.List{{Bin: at(5800 * time.Millisecond), Units: 3}}, "2 at 5.9s, 2 at 0s"},
		{moments.List{{Bin: at(5900 * time.Millisecond), Units: 2}}, "3 at 5.8s, 1 at 0s"},
		// of those that came later four may be these
		{moments.List{{Bin: at(500 * time.Millisecond), Units: 4}}, "1 at 5.9s, 3 at 0s"},
		{known, "4 at 0s"},
	} {
		parts, _ := minute.Split(c.placed, known, &fresh)
		got := ""
		for n, p := range parts {
			if n > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%d at %v", p.Admitted,
				max(0, p.Since.Sub(start)).Round(100*time.Millisecond))
		}
		if got != c.want && got != c.want+", 0 at 0s" && got+", 0 at 0s" != c.want {
			t.Errorf("beside %v: %s, want %s", c.placed, got, c.want)
		}
	}
}
