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
		l = moments.Sum(l, moments.List{{Bin: now - moments.Bin(dice.IntN(1024)), Units: 1 + dice.Int64N(5)}})
	}
	return l
}

func TestBinsBegin(t *testing.T) {
	for _, length := range []time.Duration{6 * time.Second, 7001 * time.Millisecond, time.Minute, 24 * time.Hour} {
		c, dice := moments.ClockOf(length, 1234*time.Millisecond), newDice(1)
		for range 1000 {
			at := start.Add(time.Duration(dice.Int64N(int64(length))))
			b := c.Bin(at)
			if begins := c.Instant(b); begins > at || c.Bin(begins) != b || c.Bin(begins-1) != b-1 {
				t.Fatalf("%v: bin %d of %d begins at %d", length, b, at, begins)
			}
		}
		if period := uint32(int64(start.Add(c.Ahead())) / int64(window.CountingPeriod(length))); moments.Begin(period) != c.Bin(start)/moments.Parts*moments.Parts {
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
			if sum.After(at) != inA+inB || lesser.After(at) != min(inA, inB) || greater.After(at) != max(inA, inB) || less.After(at) != inA {
				t.Fatalf("%v and %v: sum %v, lesser %v, greater %v, sum less the second %v", a, b, sum, lesser, greater, less)
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

// TestCoarseSaysNoMore: a coarse list says at its own bins what the fine one does, and nowhere more.
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
				t.Fatalf("of %d: %d, and %d in the fine list", now-at, coarse.After(at), fine.After(at))
			}
		}
		for _, lump := range coarse {
			if coarse.After(lump.Bin) != fine.After(lump.Bin) {
				t.Fatalf("%d bins ago: %d, and %d in the fine list", now-lump.Bin, coarse.After(lump.Bin), fine.After(lump.Bin))
			}
		}
		if oldest := moments.Oldest(now); coarse.After(0) != fine.After(oldest) {
			t.Fatalf("%d of %d since the period before this one", coarse.After(0), fine.After(oldest))
		}
	}
}

func TestListsOfTheFutureAreNotBelieved(t *testing.T) {
	for off, want := range map[time.Duration]int{-time.Second: 1, 200 * time.Millisecond: 1, time.Second: 0} {
		l := moments.List{{Bin: minute.Bin(start.Add(off)), Units: 1}}
		if got := minute.Believed(l, start); len(got) != want {
			t.Errorf("%v ahead: %v", off, got)
		}
	}
	if got := (moments.Clock{}).Believed(moments.List{{Bin: 1, Units: 1}}, start); got != nil {
		t.Errorf("a rule without lists believes %v", got)
	}
}

// origin is a PoP of the property below: when its admissions came, by counting period, and how many of each it has told.
type origin struct {
	came   []window.Instant
	told   moments.List
	totals window.Totals
}

// admit notes an admission at now, which is told later.
func (o *origin) admit(now window.Instant) { o.came = append(o.came, now) }

// tell brings totals and list up to date, as if all since the last time had come at the oldest one's moment.
func (o *origin) tell(known int) {
	for n := known; n < len(o.came); n++ {
		b := minute.Bin(o.came[known])
		o.told = moments.Sum(o.told, moments.List{{Bin: b, Units: 1}})
		o.totals.Roll(uint32(b / moments.Parts))
		is := o.totals.At(uint32(b / moments.Parts))
		is.Offered, is.Admitted, is.Times = is.Offered+1, is.Admitted+1, is.Times+int64(b%moments.Parts)*window.TimeParts/moments.Parts
		o.totals.Raise(uint32(b/moments.Parts), is)
	}
}

// TestNoAdmissionIsPlacedLate: a node that hears of three PoPs' admissions late, by two witnesses that hear of them at
// other times, never has more placed from any coarse bin on than came, and in the end has placed all.
func TestNoAdmissionIsPlacedLate(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { place(t, newDice(seed)) })
	}
}

func place(t *testing.T, dice *rand.Rand) {
	origins := make([]origin, 3)
	known := make([]int, len(origins))
	var views [2][3]origin // by witness
	var merged window.Totals
	var placed moments.List
	for now := start; now < start.Add(40*time.Second); now = now.Add(10 * time.Millisecond) {
		for n := range origins {
			o := &origins[n]
			if dice.IntN(20) == 0 {
				o.admit(now)
			}
			if dice.IntN(30) == 0 {
				o.tell(known[n])
				known[n] = len(o.came)
				for w := range views {
					if dice.IntN(3) > 0 { // else it is lost
						views[w][n] = *o
					}
				}
			}
		}
		if dice.IntN(20) > 0 {
			continue
		}
		totals, list := lesserOf(&views, now)
		fresh := moments.Growth(&merged, &totals)
		merged.RaiseAll(&totals)
		parts, more := minute.Split(now, placed, list, fresh)
		if placed = moments.Coarse(moments.Sum(placed, more), minute.Bin(now)); sumOf(parts) != sumOf(fresh) || more.After(0) != sumOf(fresh) {
			t.Fatalf("%v in parts %v, lumps %v", fresh, parts, more)
		}
		check(t, origins, placed)
	}
}

// lesserOf returns what both witnesses have.
func lesserOf(views *[2][3]origin, now window.Instant) (window.Totals, moments.List) {
	var totals [2]window.Totals
	var lists [2]moments.List
	for w := range views {
		totals[w].Period = uint32(minute.Bin(now) / moments.Parts)
		for n := range views[w] {
			totals[w].Add(&views[w][n].totals)
			lists[w] = moments.Sum(lists[w], moments.Coarse(views[w][n].told, minute.Bin(now)))
		}
	}
	for n := range totals[0].By {
		if totals[1].By[n].Admitted < totals[0].By[n].Admitted {
			totals[0].By[n] = totals[1].By[n]
		}
	}
	return totals[0], moments.Lesser(lists[0], lists[1])
}

func sumOf(parts []window.RemoteDelta) (sum int64) {
	for n := range parts {
		sum += parts[n].Admitted
	}
	return sum
}

// check compares what is placed with what came.
func check(t *testing.T, origins []origin, placed moments.List) {
	t.Helper()
	for _, lump := range placed {
		came := int64(0)
		for n := range origins {
			for _, at := range origins[n].came {
				if minute.Bin(at) >= lump.Bin {
					came++
				}
			}
		}
		if got := placed.After(lump.Bin); got > came {
			t.Fatalf("%d are placed from bin %d on, where %d came: %v", got, lump.Bin, came, placed)
		}
	}
}

// TestSplitByMoments: what is known of an admission places it, and what is not known is at the beginning of its period.
func TestSplitByMoments(t *testing.T) {
	now := start.Add(6 * time.Second)
	period := uint32(minute.Bin(now) / moments.Parts)
	at := func(d time.Duration) moments.Bin { return minute.Bin(start.Add(d)) }
	known := moments.List{{Bin: at(5900 * time.Millisecond), Units: 2}, {Bin: at(5800 * time.Millisecond), Units: 3}}
	fresh := []window.RemoteDelta{{Period: period, PeriodTotals: window.PeriodTotals{Offered: 9, Admitted: 4, Times: 4 * 2000}}}
	for _, c := range []struct {
		placed moments.List
		want   string
	}{
		{nil, "2 at 5.9s, 2 at 5.8s, 0 at 0s"},
		{moments.List{{Bin: at(5800 * time.Millisecond), Units: 3}}, "2 at 5.9s, 2 at 0s"},
		{moments.List{{Bin: at(5900 * time.Millisecond), Units: 2}}, "3 at 5.8s, 1 at 0s"},
		{moments.List{{Bin: at(500 * time.Millisecond), Units: 4}}, "1 at 5.9s, 3 at 0s"}, // of those that came later four may be these
		{known, "4 at 0s"},
	} {
		parts, _ := minute.Split(now, c.placed, known, fresh)
		got := ""
		for n, p := range parts {
			if n > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%d at %v", p.Admitted, max(0, p.Since.Sub(start)).Round(100*time.Millisecond))
		}
		if got != c.want && got != c.want+", 0 at 0s" && got+", 0 at 0s" != c.want {
			t.Errorf("beside %v: %s, want %s", c.placed, got, c.want)
		}
	}
	if parts, _ := minute.Split(now, nil, nil, fresh); len(parts) != 1 || parts[0] != fresh[0] {
		t.Errorf("without moments %v becomes %v", fresh, parts)
	}
}

func TestByTimes(t *testing.T) {
	now := start.Add(6 * time.Second)
	period := uint32(minute.Bin(now) / moments.Parts)
	// three admissions whose mean is half a second ago: the first can have come 1.5 s ago, two 0.75 s ago
	f := window.RemoteDelta{Period: period, PeriodTotals: window.PeriodTotals{Offered: 3, Admitted: 3, Times: 3 * 5500 * window.TimeParts / 12000}}
	l := minute.ByTimes(now, &f)
	for n, want := range []time.Duration{500 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond} {
		if got := now.Sub(minute.Instant(l[n].Bin)); (got - want).Abs() > 40*time.Millisecond {
			t.Errorf("%d: %v ago, want %v", n, got, want)
		}
	}
	f.Times = 0
	if l = minute.ByTimes(now, &f); len(l) != 1 || l[0] != (moments.Lump{Bin: moments.Begin(period), Units: 3}) {
		t.Errorf("without times: %v", l)
	}
}
