package gate_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/mitigation"
)

func TestGlobalState(t *testing.T) {
	if connected, lost, gossips := gatetest.New(t, 1<<20).GlobalState(); connected || lost ||
		gossips {
		t.Errorf("without gossip: %v, %v, %v", connected, lost, gossips)
	}
	w := newGlobalNode(t, 0, globalRule(5, time.Minute))
	for _, c := range []struct{ connected, lost bool }{
		{true, false},
		{false, false},
		{false, true},
	} {
		w.SetGlobalState(c.connected, c.lost)
		if connected, lost, gossips := w.GlobalState(); connected != c.connected ||
			lost != c.lost || !gossips {
			t.Errorf("set %+v: %v, %v, %v", c, connected, lost, gossips)
		}
		if w.Degraded() == c.connected {
			t.Errorf("set %+v: degraded %v", c, w.Degraded())
		}
	}
	if _, ok := w.GlobalRule("none"); ok {
		t.Error("a rule that is not in force")
	}
	for name, limit := range map[string]int64{
		"r": w.Rules()[0].Limit, "r#7/0": 7, "r#1000000000/0": mitigation.MaxLimit,
		"r#0/0": 0, "r#": 0, "r#-1/0": 0, "r#1e3/0": 0, "r#1000000001/0": 0, "r#7/-1": 0,
		"x#7/0": 0,
	} {
		if r, ok := w.GlobalRule(name); ok != (limit > 0) ||
			ok && (r.Name != name || r.Limit != limit) {
			t.Errorf("%s: %+v, %v", name, r, ok)
		}
	}
}

// TestRingHealth follows the view of a rule while its ring is compared, answers, falls silent,
// answers again and disagrees about the time.
func TestRingHealth(t *testing.T) {
	start := time.Now()
	g := gate.New(gate.Options{
		Node: "a", Memory: 1 << 20, Flush: flushEvery, Servers: 2, Start: start,
		Rules: []mitigation.Rule{{
			Name: "r", Limit: 3, Window: 10 * time.Second,
			Scope: mitigation.PoP,
		}},
	})
	now, ring := g.At(start), g.Ring()
	step := func(after time.Duration, answering ...int) mitigation.Scope {
		now = now.Add(after)
		for _, server := range answering {
			ring.Heard(server, now)
		}
		g.Turn(1, now, now.Time())
		return g.Figures()[0].View
	}
	if view := step(0); view != mitigation.Node || g.PoPReached() ||
		ring.Clock() != health.ClockComparing {
		t.Errorf("comparing: view %v", view)
	}
	ring.SetClock(health.ClockAgreed)
	if view := step(time.Second, 0, 1); view != mitigation.PoP || !g.PoPReached() || g.Degraded() {
		t.Errorf("agreed: view %v", view)
	}
	if view := step(time.Second, 0); view != mitigation.PoP || g.Degraded() {
		t.Errorf("one of two is silent: view %v", view)
	}
	if silent, lost := ring.Silent(1, now); silent != time.Second || !lost {
		t.Errorf("silent for %v, lost %v", silent, lost)
	}
	if view := step(time.Second); view != mitigation.Node || !g.Degraded() ||
		g.DegradedBy() != "the ring is lost" {
		t.Errorf("both are silent: view %v, degraded by %q", view, g.DegradedBy())
	}
	if view := step(time.Second, 0, 1); view != mitigation.PoP || g.Degraded() {
		t.Errorf("back: view %v", view)
	}
	ring.SetClock(health.ClockApart)
	if view := step(0, 0, 1); view != mitigation.Node || ring.Shares() || !g.Degraded() ||
		ring.Clock().String() != "apart" {
		t.Errorf("apart: view %v", view)
	}
}
