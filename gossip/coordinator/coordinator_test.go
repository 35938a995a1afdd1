package coordinator_test

import (
	"fmt"
	"hash"
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// second is a rule in rate mode with one ratio everywhere.
var second = mitigation.Rule{
	Name: "r", Limit: 10_000, Window: time.Second,
	Scope: mitigation.Global, Fairness: mitigation.FairRequests,
}

// fleet is a set of coordinators whose packets arrive at once, or not at all.
type fleet struct {
	t     *testing.T
	now   window.Instant
	nodes map[string]*node
	order []*node
	// fairness takes the place of the rule's.
	fairness mitigation.Fairness
	cut      func(from, to string) bool
	sent     hash.Hash // of all that was sent; nil for no checksum

	members []coordinator.Member
	// look is called with each record that a node sends to another; nil for none.
	look func(from, to string, r *packet.Record)
	// counts are the tables of the nodes that take part in the exchange of counts.
	counts map[string]*counts.Table
	// budget is each node's, bytes per second; 0 is the default.
	budget func(pop string) int
	// memory is that of the nodes of a PoP, bytes; 0 is the default.
	memory map[string]int64
	// idle is a node that a flood does not ask, refused is offered where admit admits.
	idle    string
	refused int64
	// change changes the rule of all nodes; nil: it stays.
	change func(r *mitigation.Rule)
}

type node struct {
	slot window.Instant // start of the gate's slot, if a test says; 0: whatever the samples say
	*coordinator.Coordinator
	name, pop string
	advice    coordinator.Advice
	heard     window.Totals
	since     window.Instant       // the latest moment before which none of something heard was
	parts     []window.RemoteDelta // all that it was handed
	merged    int64                // cost admitted elsewhere, as its gate counts it
	inbox     [][]byte

	began time.Duration // how far ahead its clock was when it started, by which its instants go
	ahead time.Duration // how far its wall clock is ahead now
}

// at is the present time as n's instant.
func (n *node) at(now window.Instant) window.Instant { return now.Add(n.began) }

// wall is the present time by n's wall clock.
func (n *node) wall(now window.Instant) time.Time { return now.Add(n.ahead).Time() }

// newFleet returns a fleet of PoPs a, b, ... with that many nodes each, under rule.
func newFleet(t *testing.T, rule mitigation.Rule, sizes ...int) *fleet {
	return newFleetWithin(t, rule, func(string) int { return 0 }, sizes...)
}

// newFleetWithin is newFleet with a budget for the nodes of each PoP, bytes per second.
func newFleetWithin(
	t *testing.T, rule mitigation.Rule, budget func(pop string) int, sizes ...int,
) *fleet {
	f := &fleet{
		t: t, now: window.Instant(1_800_000_000_000_000_000), nodes: map[string]*node{},
		cut: func(string, string) bool { return false }, budget: budget, fairness: rule.Fairness,
	}
	for p, size := range sizes {
		for n := range size {
			name, pop := fmt.Sprintf("%c%d", 'a'+p, n), string(rune('a'+p))
			f.members = append(f.members, coordinator.Member{Name: name, PoP: pop})
			f.add(rule, name, pop)
		}
	}
	f.assign([]byte("secret"), f.members)
	return f
}

// assign puts the assignment of members in force at every node.
func (f *fleet) assign(secret []byte, members []coordinator.Member) {
	table := coordinator.NewAssignment(secret, members)
	for _, n := range f.order {
		n.SetAssignment(table)
	}
}

func (f *fleet) add(rule mitigation.Rule, name, pop string) {
	n := &node{name: name, pop: pop}
	n.Coordinator = coordinator.New(coordinator.Options{
		Name: name, PoP: pop, Secret: []byte("secret"), Flush: 100 * time.Millisecond,
		Batch: 50 * time.Millisecond, Seed: 1, Budget: f.budget(pop), Counts: f.counts[name],
		Memory: f.memory[pop],
		Rule: func(name string) (mitigation.Rule, bool) {
			is := rule
			if is.Fairness = f.fairness; f.change != nil {
				f.change(&is)
			}
			return is, name == rule.Name
		},
		Send: func(to string, sent []byte) {
			if len(sent) > packet.MaxSize {
				f.t.Errorf("%s sends %d bytes", name, len(sent))
			}
			f.note(name, to, sent)
			if !f.cut(name, to) {
				f.nodes[to].inbox = append(f.nodes[to].inbox, append([]byte(nil), sent...))
			}
		},
		Apply: func(_ window.Instant, a coordinator.Advice) {
			n.advice = a
			if n.slot != 0 && n.slot != a.Since {
				return
			}
			if string(a.Key) != "k" {
				return
			}
			n.parts = append(n.parts, a.Remote...)
			for _, h := range a.Remote {
				n.merged += h.Admitted
				n.since = max(n.since, h.Since)
				n.heard.Roll(h.Period)
				n.heard.Raise(h.Period,
					window.PeriodTotals{
						Offered:  n.heard.At(h.Period).Offered + h.Offered,
						Admitted: n.heard.At(h.Period).Admitted + h.Admitted,
					})
			}
		},
	}, f.now, f.now.Time())
	f.nodes[name] = n
	f.order = append(f.order, n)
}

// run advances the fleet by a time; measure makes a node's samples.
func (f *fleet) run(span time.Duration, measure func(n *node) (coordinator.Sample, bool)) {
	for end := f.now.Add(span); f.now < end; f.now = f.now.Add(50 * time.Millisecond) {
		for _, n := range f.order {
			if m, ok := measure(n); ok && int64(f.now)/int64(50*time.Millisecond)%2 == 0 {
				n.Measure(n.at(f.now), n.wall(f.now), []coordinator.Sample{m})
			}
			n.Tick(n.at(f.now), n.wall(f.now))
		}
		f.deliver()
	}
}

// deliver delivers all packets, and those that are sent in answer.
func (f *fleet) deliver() {
	for busy := true; busy; {
		busy = false
		for _, n := range f.order {
			for _, packet := range n.inbox {
				n.Receive(n.at(f.now), n.wall(f.now), packet)
				busy = true
			}
			n.inbox = nil
		}
	}
}

// asked returns a measure that offers each PoP its rate, and admits what the ratio in force leaves.
func asked(rates map[string]float64) func(n *node) (coordinator.Sample, bool) {
	return func(n *node) (coordinator.Sample, bool) {
		rate, ok := rates[n.pop]
		return coordinator.Sample{Rule: "r", Key: []byte("k"), Since: 1, Report: control.Report{
			Rate: rate, Admitted: rate * (1 - n.advice.Ratio.Float()), Over: 200 * time.Millisecond,
		}}, ok
	}
}

func TestRatioFollowsGlobalDemand(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	f.run(20*time.Second, asked(map[string]float64{"a": 40_000, "b": 7_500, "c": 2_500}))
	var admitted float64
	for _, n := range f.order {
		if got := n.advice.Ratio.Float(); math.Abs(got-0.8) > 0.01 {
			t.Errorf("%s: ratio %.3f, want 0.8", n.name, got)
		}
		admitted += map[string]float64{
			"a": 40_000, "b": 7_500,
			"c": 2_500,
		}[n.pop] / 2 * (1 - n.advice.Ratio.Float())
	}
	if admitted < 9_800 || admitted > 10_100 {
		t.Errorf("admitted %.0f a second of 10000", admitted)
	}
}

func TestNobodyIsShedBelowTheLimit(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	f.run(10*time.Second, asked(map[string]float64{"a": 3_000, "b": 3_000, "c": 3_000}))
	for _, n := range f.order {
		if n.advice.Ratio != 0 {
			t.Errorf("%s: ratio %.3f at 0.9 of the limit", n.name, n.advice.Ratio.Float())
		}
	}
}

// An attack that ends everywhere at once is over even if one report of its end is lost: no key is
// shed for past demand.
func TestTheEndIsReported(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	f.run(5*time.Second, asked(map[string]float64{"a": 30_000, "b": 15_000, "c": 5_000}))
	quiet := func(*node) (coordinator.Sample, bool) { return coordinator.Sample{}, false }
	f.cut = func(string, string) bool { return true }
	f.run(600*time.Millisecond, quiet)
	f.cut = func(string, string) bool { return false }
	f.run(8*time.Second, quiet)
	for _, n := range f.order {
		var sum float64
		for _, p := range n.Explain(f.now, "r", []byte("k")).Parts {
			sum += p.Rate
		}
		if s := n.Stats(); sum > 5_000 || s.Shed+s.Guarded > 0 {
			t.Errorf("%s: %.0f a second are still counted, %d keys shed, %d guarded", n.name,
				sum, s.Shed, s.Guarded)
		}
	}
}

// A rule that blocks does so everywhere, however large its limit: a block in one PoP is a block in
// all.
func TestALargeLimitBlocksEverywhere(t *testing.T) {
	rule := second
	rule.Action, rule.BlockFor = mitigation.Block, time.Minute
	f := newFleet(t, rule, 1, 1, 1)
	f.run(2*time.Second, func(n *node) (coordinator.Sample, bool) {
		m := coordinator.Sample{
			Rule: "r", Key: []byte("k"), Since: 1,
			Report: control.Report{Rate: 100, Over: time.Second},
		}
		m.Report.Totals.Period = uint32(int64(f.now) / int64(time.Second))
		if m.Report.Totals.By[0].Offered = 100; n.pop == "a" {
			m.Report.Blocked, m.Report.Totals.By[0].Offered = time.Minute, 20_000
		}
		return m, true
	})
	for _, n := range f.order {
		if n.advice.View.Blocked <= 0 {
			t.Errorf("%s: not blocked", n.name)
		}
	}
}

// A change of the cluster's secret moves keys to other shards, known keys included.
func TestAnotherSecretReassignsShards(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	attack := asked(map[string]float64{"a": 30_000, "b": 15_000, "c": 5_000})
	f.run(3*time.Second, attack)
	reporters := func(table *coordinator.Assignment) (list [3]string) {
		for at, pop := range []string{"a", "b", "c"} {
			list[at] = table.Reporters(pop, table.Shard("r", "k")).First
		}
		return list
	}
	before, secret := reporters(f.order[0].Assignment()), []byte("other")
	for after := before; after[0] == before[0] || after[1] == before[1] || after[2] == before[2]; {
		secret = append(secret, '+')
		after = reporters(coordinator.NewAssignment(secret, f.members))
	}
	f.assign(secret, f.members)
	for _, n := range f.order {
		before := n.Stats().RecordsOut[packet.Report]
		n.Tick(f.now, f.now.Time())
		s := n.Stats()
		if got := s.RecordsOut[packet.Report] - before; got > 2*uint64(s.ReporterKeys) {
			t.Errorf("%s: %d reports sent for %d keys, want each to its owner and standby once",
				n.name, got, s.ReporterKeys)
		}
	}
	f.run(200*time.Millisecond, attack)
	f.look = func(from, to string, r *packet.Record) {
		if want := f.nodes[from].Explain(f.now, "r", []byte("k")).Reporter; r.Kind == packet.Ask &&
			to != want {
			t.Errorf("%s reports the key to %s, the reporter of before; want %s", from, to, want)
		}
	}
	f.run(5*time.Second, attack)
	for _, n := range f.order {
		if got := n.advice.Ratio.Float(); got < 0.78 || got > 0.85 {
			t.Errorf("%s: ratio %.3f, want 0.8", n.name, got)
		}
	}
}

// TestCountingAloneIsNoFall: a node whose ring is lost measures a part of its PoP's demand. Until
// the owner knows, the global demand has not fallen by the rest.
func TestCountingAloneIsNoFall(t *testing.T) {
	for _, c := range []struct {
		rule     mitigation.Rule
		admitted float64
		want     float64 // the ratio, as before
	}{{second, 4_000, 0.8}, {tenants, 2_000, 0.906}} {
		f := newFleet(t, c.rule, 2, 2, 2)
		f.run(10*time.Second, asked(map[string]float64{"a": 40_000, "b": 7_500, "c": 2_500}))
		a := f.nodes["a0"]
		a.Measure(f.now, f.now.Time(), []coordinator.Sample{{
			Rule: "r", Key: []byte("k"), Since: 1,
			Alone: true, Report: control.Report{
				Rate: 20_000, Admitted: c.admitted, Over: 200 * time.Millisecond,
			},
		}})
		if got := a.advice.Ratio.Float(); math.Abs(got-c.want) > 0.01 {
			t.Errorf("ratio %.3f, want %.3f as before", got, c.want)
		}
	}
}

// TestTheRingsReturnIsNoFall: when the ring of a PoP is back, its rate begins anew at each of its
// nodes. In count mode, too, the global demand has not fallen meanwhile.
func TestTheRingsReturnIsNoFall(t *testing.T) {
	rule := second
	rule.Limit = 1000
	f := newFleet(t, rule, 2, 2, 2)
	rates, alone := map[string]float64{"a": 4000, "b": 750, "c": 250}, true
	load := func(n *node) (coordinator.Sample, bool) {
		m, ok := asked(rates)(n)
		if m.Alone = alone && n.pop == "a"; m.Alone {
			m.Report.Rate /= 2
		}
		return m, ok
	}
	f.run(5*time.Second, load)
	alone, rates["a"] = false, 0
	for k, rate := range []float64{0, 10, 3800, 4000, 4000} {
		rates["a"] = rate
		f.run(100*time.Millisecond, load)
		for _, n := range f.order {
			if sum := n.advice.View.Sum; sum < 4500 || sum > 9500 {
				t.Errorf("%s, flush %d after the ring's return: a sum of %.0f, want about 5000",
					n.name, k, sum)
			}
		}
	}
	f.run(3*time.Second, load)
	for _, n := range f.order {
		if sum := n.advice.View.Sum; math.Abs(sum-5000) > 100 {
			t.Errorf("%s: a sum of %.0f, want 5000", n.name, sum)
		}
	}
	rates["a"] = 100 // a fall that is one is known
	f.run(5*time.Second, load)
	if sum := f.nodes["b0"].advice.View.Sum; math.Abs(sum-1100) > 50 {
		t.Errorf("a sum of %.0f, want 1100", sum)
	}
}
