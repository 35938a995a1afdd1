package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// propertyRequests is how many requests a property test makes.
var propertyRequests = edgetest.Rounds(60_000, 1_000_000)

// tallied adds up as a ring does, for one key, without a name to print.
type tallied map[uint32]uint64

func (a tallied) add(d *Due) uint64 {
	a[d.Period] += d.Delta
	return a[d.Period]
}

// arrivals yields the time from one request to the next and the node that it goes to.
type arrivals struct {
	name  string
	share float64 // of the limit that is offered
	next  func(rng *rand.Rand, mean time.Duration) time.Duration
	stays int // requests on average before another node is asked
}

func even(_ *rand.Rand, mean time.Duration) time.Duration { return mean }

func poisson(rng *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(rng.ExpFloat64() * float64(mean))
}

// bursts come eight at a time, within milliseconds.
func bursts(rng *rand.Rand, mean time.Duration) time.Duration {
	if rng.IntN(8) > 0 {
		return time.Duration(rng.Int64N(int64(5 * time.Millisecond)))
	}
	return time.Duration(rng.ExpFloat64() * 8 * float64(mean))
}

var clientsBelow = []arrivals{
	{"even", 0.8, even, 1},
	{"even", 0.95, even, 3},
	{"poisson", 0.8, poisson, 1},
	{"poisson", 0.95, poisson, 1},
	{"poisson that stays", 0.95, poisson, 40},
	{"bursts", 0.8, bursts, 4},
	{"even, twice the limit", 2, even, 1},
	{"poisson, ten times", 10, poisson, 2},
}

// judged counts requests, and those refused though they fit by the exact log of all nodes.
type judged struct{ asked, refused, wrong int }

func (j *judged) judge(log *Log, now Instant, limit int64, admitted bool) {
	j.asked++
	switch {
	case admitted:
		log.Admit(now, 1)
	default:
		j.refused++
		if log.Admitted(now)+1 <= limit {
			j.wrong++
		}
	}
}

// belowLimits are the limits that below asks for, and the share of the requests that each gets.
var belowLimits = []struct {
	limit  int64
	window time.Duration
	part   int // of 20
}{
	{5, time.Minute, 1},
	{5, 2 * time.Second, 4},
	{20, 10 * time.Second, 4},
	{100, 10 * time.Second, 9},
	{3, time.Second, 2},
}

// TestNobodyBelowTheLimitIsRefusedForOthers: clients of many shapes ask several nodes at random.
// Whatever a node knows of what the others admitted, it refuses nothing that fits into the trailing
// window of all nodes together.
func TestNobodyBelowTheLimitIsRefusedForOthers(t *testing.T) {
	edgetest.Alone(t)
	for _, nodes := range []int{2, 3, 6} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			askBelow(t, nodes, propertyRequests/3)
		})
	}
}

func askBelow(t *testing.T, nodes, requests int) {
	var sum judged
	for n, l := range belowLimits {
		for k, a := range clientsBelow {
			j := askPop(uint64(100*nodes+10*n+k), nodes,
				Limit{Name: "r", Limit: l.limit, Window: l.window}, a,
				requests*l.part/20/len(clientsBelow))
			if j.wrong > 0 {
				t.Errorf("%d a %v on %d nodes, %s at %v of it: %d of %d refused though they fit",
					l.limit, l.window, nodes, a.name, a.share, j.wrong, j.asked)
			}
			sum.asked, sum.refused, sum.wrong = sum.asked+j.asked,
				sum.refused+j.refused, sum.wrong+j.wrong
		}
	}
	t.Logf("%d nodes: %d asked, %d refused, %d of them wrongly", nodes, sum.asked,
		sum.refused, sum.wrong)
}

func askPop(seed uint64, nodes int, l Limit, a arrivals, requests int) (j judged) {
	rng := rand.New(rand.NewPCG(seed, 17))
	p := newPop(nodes, l)
	p.tally = tallied{}.add
	p.until(start.Add(time.Duration(rng.Int64N(int64(l.Window)))))
	log, at := NewLog(l.Window, time.Microsecond), 0
	mean := time.Duration(float64(l.Window) / float64(l.Limit) / a.share)
	for range requests {
		p.until(p.now.Add(a.next(rng, mean)))
		if rng.IntN(a.stays) == 0 {
			at = rng.IntN(nodes)
		}
		j.judge(log, p.now, l.Limit, p.ask(at, l.Name, "k"))
		if rng.IntN(3) == 0 {
			p.hurry(rng.IntN(nodes))
		}
	}
	return j
}

// TestAnEarlyBurstIsNotHeldForLonger: three at node A, one there later, one at node B, which then
// meets the key: when the first three have left the window, two of five are in it.
func TestAnEarlyBurstIsNotHeldForLonger(t *testing.T) {
	for _, window := range []time.Duration{time.Minute, 10 * time.Second, 2 * time.Second} {
		p := newPop(2, Limit{Name: "r", Limit: 5, Window: window})
		begins := p.nodes[0].Meter("r").begins(p.nodes[0].Meter("r").period(start.Add(window), 0),
			0)
		at := func(seconds float64) Instant {
			return begins.Add(
				time.Duration(seconds / 60 * float64(window)))
		}
		p.until(at(0))
		for _, ask := range []struct {
			node int
			at   float64
		}{{0, 0.24}, {0, 0.24}, {0, 0.24}, {0, 10.8}, {1, 11.05}, {1, 60.39}} {
			p.until(at(ask.at))
			if !p.ask(ask.node, "r", "k") {
				t.Errorf("window %v: refused at %v of 60 of it", window, ask.at)
			}
		}
	}
}

// worldOf are PoPs of one node each, which hear of each other late and now and then.
type worldOf struct {
	rng   *rand.Rand
	nodes []*Counter
	own   []Totals // totals of each node
	had   []Totals // of the others', by each
	now   Instant
	round int
}

// until has each flush every 100 ms, and hear once a second or so.
func (w *worldOf) until(end Instant) {
	for {
		next := start.Add(time.Duration(w.round+1) * testFlush / 3)
		if next > end {
			break
		}
		w.round++
		w.now = next
		n := w.round % len(w.nodes)
		for _, s := range soloFlush(w.nodes[n], next) {
			told := w.own[n].At(s.Totals.Period)
			told.Offered, told.Admitted, told.Times = told.Offered+s.Totals.By[0].Offered,
				told.Admitted+s.Totals.By[0].Admitted, told.Times+s.Totals.By[0].Times
			w.own[n].Raise(s.Totals.Period, told)
		}
		if w.rng.IntN(10) == 0 {
			w.hear(n)
		}
	}
	w.now = end
}

func (w *worldOf) hear(n int) {
	m := w.nodes[n].Meter("r")
	others := Totals{Period: m.period(w.now, 0)}
	for k := range w.own {
		if k != n {
			others.Add(&w.own[k])
		}
	}
	var news []RemoteDelta
	for k := range uint32(Periods) {
		told, had := others.At(others.Period-k), w.had[n].At(others.Period-k)
		if fresh := (PeriodTotals{
			told.Offered - had.Offered, told.Admitted - had.Admitted,
			told.Times - had.Times,
		}); fresh.Offered > 0 {
			news = append(news, RemoteDelta{Period: others.Period - k, PeriodTotals: fresh})
		}
	}
	if m.MergeRemote(w.now, 0, m.Index([]byte("k")), 0, news) {
		w.had[n] = others
	}
}

// TestNobodyBelowTheLimitIsRefusedForOtherPoPs: the same over three PoPs, of which each hears a
// second late.
func TestNobodyBelowTheLimitIsRefusedForOtherPoPs(t *testing.T) {
	edgetest.Alone(t)
	var sum judged
	for n, l := range belowLimits {
		for k, a := range clientsBelow {
			rng := rand.New(rand.NewPCG(uint64(10*n+k), 19))
			w := &worldOf{rng: rng, now: start, own: make([]Totals, 3), had: make([]Totals, 3)}
			for range 3 {
				c, _ := worldCounter(l.limit, l.window)
				w.nodes = append(w.nodes, c)
			}
			var j judged
			log, at, mean := NewLog(l.window, time.Microsecond), 0,
				time.Duration(float64(l.window)/float64(l.limit)/a.share)
			for range propertyRequests / 4 * l.part / 20 / len(clientsBelow) {
				w.until(w.now.Add(a.next(rng, mean)))
				if rng.IntN(a.stays) == 0 {
					at = rng.IntN(3)
				}
				j.judge(log, w.now, l.limit, ask(w.nodes[at].Meter("r"), w.now, "k", 1).Fits)
			}
			if j.wrong > 0 {
				t.Errorf("%d a %v, %s at %v of it: %d of %d refused though they fit", l.limit,
					l.window, a.name, a.share, j.wrong, j.asked)
			}
			sum.asked, sum.refused, sum.wrong = sum.asked+j.asked,
				sum.refused+j.refused, sum.wrong+j.wrong
		}
	}
	t.Logf("%d asked, %d refused, %d of them wrongly", sum.asked, sum.refused, sum.wrong)
}

// TestWhatIsCountedLateIsNotAnothers: an exchange of which nobody can say whether it was counted is
// counted after the next look.
func TestWhatIsCountedLateIsNotAnothers(t *testing.T) {
	p := newPop(2, Limit{Name: "r", Limit: 5, Window: 10 * time.Second})
	var late *Due
	p.fails = func(d *Due) (failed, sent bool) {
		if d.Delta == 0 || late != nil {
			return false, false
		}
		late = &Due{
			Rule: d.Rule, Variant: d.Variant, Window: d.Window, Period: d.Period,
			Key: []byte("k"), Delta: d.Delta,
		}
		return true, true
	}
	p.ask(0, "r", "k")
	p.ask(0, "r", "k")
	p.until(p.now.Add(3 * testFlush))
	p.ask(0, "r", "k")
	p.until(p.now.Add(3 * testFlush))
	p.ring.add(late)
	p.ask(0, "r", "k")
	p.until(p.now.Add(3 * testFlush))
	m := p.nodes[0].Meter("r")
	if got := m.Evidence(p.now, m.Index([]byte("k"))).Admitted; got != 4 {
		t.Errorf("%d of 4 are known where all were admitted", got)
	}
}
