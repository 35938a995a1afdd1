package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

func TestTotalsRollAndRaise(t *testing.T) {
	var is Totals
	is.Raise(100, PeriodTotals{Offered: 5, Admitted: 3})
	is.Raise(100, PeriodTotals{Offered: 4, Admitted: 4}) // each part only grows
	is.Raise(103, PeriodTotals{Offered: 7, Admitted: 7})
	is.Raise(102, PeriodTotals{Offered: 1})
	is.Raise(90, PeriodTotals{Offered: 9}) // long past
	for period, want := range map[uint32]PeriodTotals{
		103: {Offered: 7, Admitted: 7}, 102: {Offered: 1}, 101: {},
		100: {Offered: 5, Admitted: 4}, 90: {}, 104: {},
	} {
		if got := is.At(period); got != want {
			t.Errorf("period %d: %+v, want %+v", period, got, want)
		}
	}
	is.Roll(103 + Periods)
	if is != (Totals{Period: 103 + Periods}) {
		t.Errorf("after a long time: %+v", is)
	}
}

func TestTotalsAddByPeriod(t *testing.T) {
	is, other := Totals{Period: 10}, Totals{Period: 12}
	other.By[0].Offered, other.By[2].Offered, other.By[3].Offered = 1, 20, 300
	is.Add(&other)
	if is.By[0].Offered != 20 || is.By[1].Offered != 300 || is.By[2].Offered != 0 {
		t.Errorf("%+v", is)
	}
}

// worldCounter is a counter that has no ring and whose limit the world shares.
func worldCounter(limit int64, window time.Duration) (*Counter, *Meter) {
	c := NewSharedCounter(1<<20, testFlush)
	c.Configure([]Limit{{Name: "r", Limit: limit, Window: window, Shared: true, Global: true}})
	return c, c.Meter("r")
}

// soloFlush collects for a node without a ring.
func soloFlush(c *Counter, now Instant) (all []Standing) {
	f := Flush{
		Now: now, Interval: testFlush, Nodes: 1, Room: 1000, Alone: true, Solo: true,
		Down: func(int) bool { return true },
	}
	dues, _ := c.Collect(f, nil, nil)
	for n := range dues {
		if !dues[n].Alone() {
			panic("for a ring that is not there")
		}
		if s, ok := c.Alone(f, &dues[n]); ok {
			all = append(all, s)
		}
	}
	return all
}

func TestAloneTellsOnceWhatIsNew(t *testing.T) {
	c, m := worldCounter(5, time.Minute)
	for range 7 {
		ask(m, start, "k", 1)
	}
	all := soloFlush(c, start.Add(testFlush))
	if len(all) != 1 {
		t.Fatalf("%d keys told", len(all))
	}
	if told := all[0].Totals.By[0]; told.Offered != 7 || told.Admitted != 5 || told.Times <= 0 {
		t.Errorf("told %+v, want 7 offered and 5 admitted with their times", told)
	}
	if again := soloFlush(c, start.Add(2*testFlush)); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
}

func TestRemoteRefusesHere(t *testing.T) {
	_, m := worldCounter(5, time.Minute)
	i := m.Index([]byte("k"))
	if m.MergeRemote(start, 0, i, 0, nil) {
		t.Error("a key that was never asked for has a slot")
	}
	ask(m, start, "k", 1)
	period := m.period(start, 0)
	gone := []RemoteDelta{{Period: period, PeriodTotals: PeriodTotals{Offered: 4, Admitted: 4}}}
	if m.MergeRemote(start, 0, i, start.Add(-time.Second), gone) || m.Offered(start, i) != 1 {
		t.Error("what an earlier slot lacks is counted in this one")
	}
	at := start.Sub(m.begins(period, 0)) * timeParts / m.packing.period
	m.MergeRemote(start, 0, i, 0,
		[]RemoteDelta{{
			Period:       period,
			PeriodTotals: PeriodTotals{Offered: 9, Admitted: 4, Times: 4 * int64(at)},
		}})
	if ask(m, start.Add(time.Second), "k", 1).Fits {
		t.Error("a sixth passed")
	}
	if !ask(m, start.Add(time.Minute+time.Second), "k", 1).Fits {
		t.Error("refused for what left the window")
	}
}

// What others did in a period that has ended counts as early as it can have been: nobody is refused
// longer than a window.
func TestRemoteLate(t *testing.T) {
	_, m := worldCounter(5, time.Minute)
	i := m.Index([]byte("k"))
	ask(m, start, "k", 1)
	period := m.period(start, 0)
	begins := m.begins(period, 0)
	m.MergeRemote(start.Add(20*time.Second), 0, i, 0,
		[]RemoteDelta{{Period: period, PeriodTotals: PeriodTotals{Offered: 5, Admitted: 5}}})
	if ask(m, begins.Add(59*time.Second), "k", 1).Fits {
		t.Error("passed within the window")
	}
	if !ask(m, begins.Add(61*time.Second), "k", 1).Fits {
		t.Error("refused for longer than a window after they can have been")
	}
}

func TestRemoteNonsenseIsNotCounted(t *testing.T) {
	_, m := worldCounter(5, time.Minute)
	i := m.Index([]byte("k"))
	ask(m, start, "k", 1)
	for _, told := range []PeriodTotals{
		{Offered: 1, Admitted: 2},
		{Offered: -1, Admitted: -1},
		{Offered: 1 << 50, Admitted: 1 << 50},
	} {
		m.MergeRemote(start, 0, i, 0,
			[]RemoteDelta{{Period: m.period(start, 0), PeriodTotals: told}})
	}
	if !ask(m, start, "k", 1).Fits {
		t.Error("refused by what cannot be true")
	}
}

// A rate that begins at once is known after one flush, one that ends after a few; what was admitted
// adds up right.
func TestRatesLeapAndCease(t *testing.T) {
	c, m := worldCounter(10_000, time.Second)
	now := start
	var last Standing
	took := 0.0
	second := func(rate int) {
		for range 10 {
			for n := range rate / 10 {
				ask(m, now.Add(time.Duration(n)*testFlush/time.Duration(rate/10)), "k", 1)
			}
			now = now.Add(testFlush)
			if all := soloFlush(c, now); len(all) == 1 {
				last = all[0]
			}
			took += last.Admitted * testFlush.Seconds()
		}
	}
	second(5_000)
	if last.Rate < 4_900 || last.Rate > 5_100 {
		t.Errorf("rate %.0f after a second of 5000", last.Rate)
	}
	second(10) // a trickle, so that there is something to flush
	if last.Rate > 1_000 {
		t.Errorf("rate %.0f a second after the end", last.Rate)
	}
	if took < 3_800 || took > 4_800 {
		t.Errorf("admitted adds up to %.0f of 4500, what came before the first flush not counted",
			took)
	}
}

// TestBackFromAloneIsNoRise: other nodes' cost from while this node's ring was down is not taken
// for a sudden rise.
func TestBackFromAloneIsNoRise(t *testing.T) {
	edgetest.Alone(t)
	const limit, rate = 2000, 1200.0
	for _, lasts := range []time.Duration{150, 400, 900, 1300, 2100, 3500} {
		for begins := start.Add(3 * time.Second); begins < start.Add(
			4*time.Second); begins = begins.Add(130 * time.Millisecond) {
			p, back := newPop(3, Limit{Name: "r", Limit: limit, Window: time.Second, Global: true}),
				begins.Add(lasts*time.Millisecond)
			p.cut = func(n int) bool { return n == 0 && p.now > begins && p.now <= back }
			most, last := 0.0, 0.0
			p.learns = func(n int, s Standing) {
				if last = s.Rate; n == 0 && p.now > back {
					most = max(most, s.Rate)
				}
			}
			dice := rand.New(rand.NewPCG(1, 2))
			for p.now < back.Add(2*time.Second) {
				p.until(p.now.Add(time.Duration(dice.ExpFloat64() / rate * float64(time.Second))))
				p.ask(dice.IntN(3), "r", "k")
			}
			if most > 1.8*rate || math.Abs(last-rate) > 0.2*rate {
				t.Errorf("alone for %d ms from %v on: up to %.0f a second are told of, at last "+
					"%.0f, of %.0f", lasts, begins.Sub(start), most, last, rate)
			}
		}
	}
}
