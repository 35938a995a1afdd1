package counts_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/window"
)

// TestRaiseIsCumulative: a record that is lost, repeated or late changes nothing in the end.
func TestRaiseIsCumulative(t *testing.T) {
	all := []counts.Record{
		{Period: 10, Now: 1},
		{Period: 10, Now: 3},
		{Period: 11, Now: 1, Before: 3},
		{Period: 11, Now: 2, Before: 4},
		{Period: 12, Now: 1, Before: 2},
	}
	b := counts.BasisOf(100, 10*time.Second, 3, 100*time.Millisecond)
	want := [window.Periods]uint8{1, 2, 4}
	orders := [][]int{
		{0, 1, 2, 3, 4},
		{1, 3, 4},
		{0, 0, 1, 1, 2, 3, 3, 4, 4},
		{4, 3, 2, 1, 0},
		{3, 4, 0},
	}
	for _, order := range orders {
		var s counts.State
		sum := int64(0)
		for _, n := range order {
			for _, g := range s.Raise(&all[n], counts.Moments{}, &b, nil) {
				sum += g.Units
			}
		}
		if s.By != want || s.Period != 12 || sum != 7 {
			t.Errorf("order %v: %+v, grown by %d", order, s, sum)
		}
	}
}

// TestBelieved: an origin is believed to have admitted all but a part of the limit in a window,
// over whatever periods it spreads its claim; what has left the window makes room.
func TestBelieved(t *testing.T) {
	b := counts.BasisOf(100, 10*time.Second, 5, 100*time.Millisecond)
	var s counts.State
	sum := int64(0)
	for period := range uint32(4) {
		for _, g := range s.Raise(&counts.Record{Period: 10 + period, Now: 90, Before: 90},
			counts.Moments{}, &b, nil) {
			sum += g.Units
		}
	}
	if sum != 95 {
		t.Errorf("%d of a limit of 100 are believed, want 95", sum)
	}
	grown := s.Raise(&counts.Record{Period: 17, Now: 90}, counts.Moments{}, &b, nil)
	if len(grown) != 1 || grown[0].Units != 90 {
		t.Errorf("a window later %v are believed", grown)
	}
	for limit, want := range map[int64]int64{1: 1, 2: 2, 5: 5, 12: 11, 600: 550} {
		if got := counts.Believed(limit, 3); got != want {
			t.Errorf("of a limit of %d %d are believed, want %d", limit, got, want)
		}
	}
}

// TestUnbelievedIsNoNews: what was not believed at first, and is when an older claim has left the
// window, did not happen since.
func TestUnbelievedIsNoNews(t *testing.T) {
	b := counts.BasisOf(100, 10*time.Second, 5, 100*time.Millisecond)
	var s counts.State
	for _, r := range []counts.Record{{Period: 10, Now: 95}, {Period: 14, Now: 50, Mean: 20}} {
		s.Raise(&r, counts.Moments{AsOf: window.Instant(2*time.Second) * window.Instant(r.Period)},
			&b, nil)
	}
	got := s.Raise(&counts.Record{Period: 15, Now: 0, Before: 50},
		counts.Moments{AsOf: window.Instant(32 * time.Second)}, &b, nil)
	if len(got) != 1 || got[0] != (counts.Growth{Period: 14, Units: 50}) {
		t.Errorf("grown by %+v", got)
	}
}

// origin is a PoP that admits at random, and whose nodes send what its ring has added up.
type origin struct {
	rule     testRule
	admitted []time.Duration
	counted  []time.Duration // by admission: when the ring has it
}

type testRule struct {
	limit  int64
	length time.Duration
}

// totals returns the ring's totals at now, as a node sends them.
func (o *origin) totals(now time.Duration) (all window.Totals) {
	period := window.CountingPeriod(o.rule.length)
	all.Roll(uint32(now / period))
	for n, at := range o.admitted {
		if o.counted[n] <= now {
			all.Add(&window.Totals{
				Period: uint32(at / period),
				By: [window.Periods]window.PeriodTotals{{
					Admitted: 1, Offered: 1, Times: int64(at%period) * window.TimeParts / int64(
						period),
				}},
			})
		}
	}
	return all
}

// mark is an admission as a receiver takes it.
type mark struct{ at time.Duration }

// earliest places a growth as window.Meter.MergeRemote does.
func earliest(g counts.Growth, unit int64, period, now time.Duration) (marks []mark) {
	n := g.Units * unit
	if g.Until != 0 {
		now = min(now, time.Duration(g.Until))
	}
	for i := int64(1); i <= n; i++ {
		begin := time.Duration(g.Period) * period
		at := max(begin, time.Duration(g.Since))
		last := int64(min(now-begin, period))*window.TimeParts/int64(period) + 1
		if part := (g.Times*unit - (n-i)*last) / i; part > 0 {
			at = max(at, begin+time.Duration(part*int64(period)/window.TimeParts))
		}
		marks = append(marks, mark{min(at, now)})
	}
	return marks
}

// TestNothingIsTakenForLater: whatever is lost or late, a receiver never has more admissions after
// any moment than there were. So no client is denied for longer than its requests are in the
// window.
func TestNothingIsTakenForLater(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rules := []testRule{
			{5, 10 * time.Second},
			{600, time.Minute},
			{2, 3 * time.Second},
			{900, 10 * time.Second},
		}
		o := origin{rule: rules[seed%uint64(len(rules))]}
		runOrigin(t, &o, rng, seed)
	}
}

func runOrigin(t *testing.T, o *origin, rng *rand.Rand, seed uint64) {
	t.Helper()
	period := window.CountingPeriod(o.rule.length)
	b := counts.BasisOf(o.rule.limit, o.rule.length, 3, 100*time.Millisecond)
	start := 100 * o.rule.length
	for at := start; len(o.admitted) < int(min(o.rule.limit*2, 60)); {
		at += time.Duration(rng.ExpFloat64() * float64(o.rule.length) / float64(min(o.rule.limit,
			60)))
		o.admitted = append(o.admitted, at)
		o.counted = append(o.counted, at+time.Duration(rng.Float64()*float64(b.Lag)))
	}
	type arrival struct {
		at, asOf, sent time.Duration
		r              counts.Record
	}
	var all []arrival
	for n := range o.admitted {
		if read := o.counted[n] + time.Duration(rng.IntN(100))*time.Millisecond; rng.IntN(10) > 0 {
			sent := read + time.Duration(rng.ExpFloat64()*float64(period)/8)
			totals := o.totals(read)
			r := counts.RecordOf(&totals, o.rule.limit, o.rule.length, sent-read)
			if sent/period-read/period > 6 {
				continue
			}
			asOf := sent - counts.Age(r.Age, period)
			r.Period = counts.PeriodNear(r.Period&7, uint32(sent/period))
			all = append(all, arrival{
				sent + time.Duration(rng.IntN(150))*time.Millisecond, asOf,
				sent, r,
			})
		}
	}
	slices.SortFunc(all, func(a, b arrival) int { return int(a.at - b.at) })
	var s counts.State
	var marks []mark
	for _, a := range all {
		for _, g := range s.Raise(&a.r, counts.Moments{
			AsOf:   window.Instant(a.asOf),
			Issued: window.Instant(a.sent),
		}, &b, nil) {
			marks = append(marks, earliest(g, b.Unit, period, a.at)...)
		}
		compare(t, o, marks, a.at, seed)
		if s.Origin = 1; rng.IntN(5) == 0 {
			compareBegun(t, o, &s, a.at, seed)
		}
	}
}

// compareBegun is compare for a key that begins at now with what a table holds.
func compareBegun(t *testing.T, o *origin, s *counts.State, now time.Duration, seed uint64) {
	t.Helper()
	period := window.CountingPeriod(o.rule.length)
	b := counts.BasisOf(o.rule.limit, o.rule.length, 3, 100*time.Millisecond)
	table := counts.NewTable(8)
	table.Put(window.Instant(now), 77, s)
	var marks []mark
	table.Each(window.Instant(now), 77, uint32(now/period), o.rule.length, func(s counts.State) {
		for _, g := range s.Whole(&b, nil) {
			marks = append(marks, earliest(g, b.Unit, period, now)...)
		}
	})
	if len(marks) == 0 && s.By[0] > 3 {
		t.Errorf("seed %d: the table knows nothing of %+v", seed, s)
	}
	compare(t, o, marks, now, seed)
}

// compare fails if marks has more admissions after some moment than o.
func compare(t *testing.T, o *origin, marks []mark, now time.Duration, seed uint64) {
	t.Helper()
	for _, m := range marks {
		taken, really := 0, 0
		for _, other := range marks {
			if other.at >= m.at {
				taken++
			}
		}
		for _, at := range o.admitted {
			if at >= m.at && at <= now {
				really++
			}
		}
		if taken > really {
			t.Fatalf("seed %d, limit %d in %v: at %v, %d admissions since %v, there were %d", seed,
				o.rule.limit, o.rule.length, now, taken, m.at, really)
		}
	}
}
