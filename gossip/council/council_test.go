package council

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

var second = mitigation.Rule{Name: "r", Limit: 10_000, Window: time.Second, Scope: mitigation.Global}

// fleet is councils that hear each other at once, or not at all.
type fleet struct {
	t     *testing.T
	now   window.Instant
	nodes map[string]*node
	order []*node
	cut   func(from, to string) bool
}

type node struct {
	*Council
	name, pop string
	advice    Advice
	heard     window.Totals
	inbox     [][]byte
}

// newFleet returns a fleet of PoPs a, b, ... with that many nodes each, under rule.
func newFleet(t *testing.T, rule mitigation.Rule, sizes ...int) *fleet {
	f := &fleet{t: t, now: window.Instant(1_800_000_000_000_000_000), nodes: map[string]*node{}, cut: func(string, string) bool { return false }}
	var members []Member
	for p, size := range sizes {
		for n := range size {
			name, pop := fmt.Sprintf("%c%d", 'a'+p, n), string(rune('a'+p))
			members = append(members, Member{name, pop})
			f.add(rule, name, pop)
		}
	}
	seats := NewSeats([]byte("secret"), members)
	for _, n := range f.order {
		n.SetSeats(seats)
	}
	return f
}

func (f *fleet) add(rule mitigation.Rule, name, pop string) {
	n := &node{name: name, pop: pop}
	n.Council = New(Options{
		Name: name, PoP: pop, Secret: []byte("secret"), Flush: 100 * time.Millisecond, Batch: 50 * time.Millisecond, Seed: 1,
		Rule: func(name string) (mitigation.Rule, bool) { return rule, name == rule.Name },
		Send: func(to string, packet []byte) {
			if len(packet) > MaxPacket {
				f.t.Errorf("%s sends %d bytes", name, len(packet))
			}
			if !f.cut(name, to) {
				f.nodes[to].inbox = append(f.nodes[to].inbox, append([]byte(nil), packet...))
			}
		},
		Spread: func(_ string, record []byte) {
			for _, other := range f.order {
				if other.name != name && !f.cut(name, other.name) {
					other.Hear(f.now, record)
				}
			}
		},
		Apply: func(_ window.Instant, a Advice) {
			n.advice = a
			for _, h := range a.Heard {
				n.heard.Roll(h.Period)
				n.heard.Raise(h.Period, window.Told{Offered: n.heard.At(h.Period).Offered + h.Offered, Admitted: n.heard.At(h.Period).Admitted + h.Admitted})
			}
		},
	}, f.now)
	f.nodes[name] = n
	f.order = append(f.order, n)
}

// run lets that much time pass; measure says what each PoP is asked.
func (f *fleet) run(span time.Duration, measure func(n *node) (Measured, bool)) {
	for end := f.now.Add(span); f.now < end; f.now = f.now.Add(50 * time.Millisecond) {
		for _, n := range f.order {
			if m, ok := measure(n); ok && int64(f.now)/int64(50*time.Millisecond)%2 == 0 {
				n.Measure(f.now, []Measured{m})
			}
			n.Tick(f.now)
		}
		for busy := true; busy; {
			busy = false
			for _, n := range f.order {
				for _, packet := range n.inbox {
					n.Receive(f.now, packet)
					busy = true
				}
				n.inbox = nil
			}
		}
	}
}

// asked returns a measure by which each PoP is asked what rates says, and admits what the ratio in force leaves.
func asked(rates map[string]float64) func(n *node) (Measured, bool) {
	return func(n *node) (Measured, bool) {
		rate, ok := rates[n.pop]
		return Measured{Rule: "r", Key: []byte("k"), Since: 1, Demand: mitigation.Demand{
			Rate: rate, Admitted: rate * (1 - n.advice.Ratio.Float()), Over: 200 * time.Millisecond,
		}}, ok
	}
}

func TestRatioFollowsTheWorldsDemand(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	f.run(20*time.Second, asked(map[string]float64{"a": 40_000, "b": 7_500, "c": 2_500}))
	var admitted float64
	for _, n := range f.order {
		if got := n.advice.Ratio.Float(); math.Abs(got-0.8) > 0.01 {
			t.Errorf("%s: ratio %.3f, want 0.8", n.name, got)
		}
		admitted += map[string]float64{"a": 40_000, "b": 7_500, "c": 2_500}[n.pop] / 2 * (1 - n.advice.Ratio.Float())
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

// An attack that ends everywhere at once is over though its end is lost once: nobody is shed for what was asked long ago.
func TestTheEndIsTold(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	f.run(5*time.Second, asked(map[string]float64{"a": 30_000, "b": 15_000, "c": 5_000}))
	quiet := func(*node) (Measured, bool) { return Measured{}, false }
	f.cut = func(string, string) bool { return true }
	f.run(600*time.Millisecond, quiet)
	f.cut = func(string, string) bool { return false }
	f.run(8*time.Second, quiet)
	for _, n := range f.order {
		if b := n.books[id{"r", "k"}]; b != nil && b.account.Sum() > 5_000 {
			t.Errorf("%s: %.0f a second are still counted, guarded %v", n.name, b.account.Sum(), b.account.Guarded())
		}
	}
}

// A rule that blocks does so everywhere, however large its limit: what one PoP blocks is blocked in the others.
func TestALargeLimitBlocksEverywhere(t *testing.T) {
	rule := second
	rule.Action, rule.BlockFor = mitigation.Block, time.Minute
	f := newFleet(t, rule, 1, 1, 1)
	f.run(2*time.Second, func(n *node) (Measured, bool) {
		m := Measured{Rule: "r", Key: []byte("k"), Since: 1, Demand: mitigation.Demand{Rate: 100, Over: time.Second}}
		m.Demand.Totals.Period = uint32(int64(f.now) / int64(time.Second))
		if m.Demand.Totals.By[0].Offered = 100; n.pop == "a" {
			m.Demand.Blocked, m.Demand.Totals.By[0].Offered = time.Minute, 20_000
		}
		return m, true
	})
	for _, n := range f.order {
		if n.advice.View.Blocked <= 0 {
			t.Errorf("%s: not blocked", n.name)
		}
	}
}

// A change of the cluster's key deals the keys of rules out anew, those that are known already as well.
func TestAnotherKeyDealsAnew(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	attack := asked(map[string]float64{"a": 30_000, "b": 15_000, "c": 5_000})
	f.run(3*time.Second, attack)
	before := f.order[0].seats
	secret := []byte("other")
	for NewSeats(secret, before.members).shard(id{"r", "k"}) == before.shard(id{"r", "k"}) {
		secret = append(secret, '+')
	}
	seats := NewSeats(secret, before.members)
	for _, n := range f.order {
		n.SetSeats(seats)
		told := n.Stats().RecordsOut[kindDemand]
		n.Tick(f.now)
		if got := n.Stats().RecordsOut[kindDemand] - told; got > 2*uint64(len(n.desks)) {
			t.Errorf("%s: %d demands sent for %d keys, want each to its owner and standby once", n.name, got, len(n.desks))
		}
	}
	f.run(5*time.Second, attack)
	for _, n := range f.order {
		if l := n.locals[id{"r", "k"}]; l == nil || l.shard != seats.shard(l.id) {
			t.Errorf("%s: the key is in the shard of before", n.name)
		}
		if got := n.advice.Ratio.Float(); got < 0.78 || got > 0.85 {
			t.Errorf("%s: ratio %.3f, want 0.8", n.name, got)
		}
	}
}

// TestCountingAloneIsNoFall: a node whose ring is lost has a part of its PoP's demand; until the owner has heard of that, the world's
// has not fallen by the rest.
func TestCountingAloneIsNoFall(t *testing.T) {
	f := newFleet(t, second, 2, 2, 2)
	f.run(10*time.Second, asked(map[string]float64{"a": 40_000, "b": 7_500, "c": 2_500}))
	a := f.nodes["a0"]
	a.Measure(f.now, []Measured{{Rule: "r", Key: []byte("k"), Since: 1, Alone: true, Demand: mitigation.Demand{
		Rate: 20_000, Admitted: 4_000, Over: 200 * time.Millisecond,
	}}})
	if got := a.advice.Ratio.Float(); math.Abs(got-0.8) > 0.01 {
		t.Errorf("ratio %.3f, want 0.8 as before", got)
	}
}
