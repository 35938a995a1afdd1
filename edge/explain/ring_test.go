package explain_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

func sourcesOf(n *poptest.Node) explain.Sources {
	return explain.Sources{Gate: n.Gate, Ring: n.Flusher.Stats}
}

// TestExplainRing follows the text about one key's counters: nothing before it is asked for, no
// server before the first flush, then the PoP's count, its age, and the cost that no flush has sent
// yet.
func TestExplainRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := ringtest.NewMeasured()
		j := poptest.NewNode(t, "a", m, poptest.Rule(10, 10*time.Second),
			mitigation.Rule{Name: "own", Limit: 10, Window: 10 * time.Second})
		poptest.Pass(2*time.Second, j)
		ask := func(rule string, cost uint32) {
			_, _ = j.Gate.Lane(0).Decide(j.Gate.Now(), 0, gatetest.Ask(gate.Check, rule, "k", cost))
		}
		check := func(when string, want *api.KeyRingView) {
			t.Helper()
			v := explained(t, sourcesOf(j), "r", "k")
			if diff := cmp.Diff(want, v.Ring); diff != "" || v.ViewLost {
				t.Errorf("%s, lost %v (-want +got):\n%s", when, v.ViewLost, diff)
			}
		}
		age := func(s float64) *float64 { return &s }
		check("never asked for", nil)
		ask("r", 4)
		check("before a flush", &api.KeyRingView{OfferedRate: 0.4, Unsent: 4})
		poptest.Pass(poptest.Every, j)
		ask("r", 1)
		time.Sleep(250 * time.Millisecond)
		check("after it", &api.KeyRingView{
			Server: "/run/mc.sock", AgeSeconds: age(0.25),
			OfferedRate: 0.5, Unsent: 1,
		})
		ask("own", 1)
		if v := explained(t, sourcesOf(j), "own", "k"); v.Ring != nil || v.ViewLost {
			t.Errorf("a rule that is not shared: %+v, lost %v", v.Ring, v.ViewLost)
		}
	})
}

// TestExplainRate: the rate is the demand at all nodes.
func TestExplainRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := ringtest.NewMeasured()
		a := poptest.NewNode(t, "a", m, poptest.Rule(10_000, time.Second))
		b := poptest.NewNode(t, "b", m, poptest.Rule(10_000, time.Second))
		for range 30 {
			for _, j := range []*poptest.Node{a, b} {
				_, _ = j.Gate.Lane(0).Decide(j.Gate.Now(), 0,
					gatetest.Ask(gate.Check, "r", "k", 1000))
			}
			poptest.Pass(poptest.Every, a, b)
		}
		v := explained(t, sourcesOf(a), "r", "k").Ring
		if v == nil || v.OfferedRate < 18_000 || v.OfferedRate > 22_000 {
			t.Errorf("%+v, of 20,000 a second offered", v)
		}
		if f := explained(t, sourcesOf(a), "r", "k").Flag; f == nil || f.Source != "ring" {
			t.Errorf("flag %+v, want one by the ring's count", f)
		}
	})
}

// TestExplainLost checks the text about a key whose view is lost: the effect of its rule's failure
// mode, and the event that would let the key through.
func TestExplainLost(t *testing.T) {
	t.Parallel()
	const denied = "the view of the PoP is lost and failure_mode is deny; requests pass again " +
		"once the ring answers"
	rule := func(name string, f mitigation.FailureMode, m mitigation.Mode) mitigation.Rule {
		return mitigation.Rule{
			Name: name, Limit: 3, Window: 10 * time.Second,
			Scope: mitigation.PoP, FailureMode: f, Mode: m,
		}
	}
	synctest.Test(t, func(t *testing.T) {
		m := ringtest.NewMeasured()
		j := poptest.NewNode(t, "a", m,
			rule("local", mitigation.FailLocal, mitigation.Enforce),
			rule("allow", mitigation.FailAllow, mitigation.Enforce),
			rule("deny", mitigation.FailDeny, mitigation.Enforce),
			rule("shadow", mitigation.FailDeny, mitigation.Shadow))
		poptest.Pass(time.Second, j)
		override(j.Gate, "allow", "friend", mitigation.Allow, time.Hour)
		override(j.Gate, "deny", "foe", mitigation.Block, time.Hour)
		m.SetAllDown(true)
		poptest.Pass(time.Second, j)
		for _, tt := range []struct{ rule, key, verdict, why, lifts string }{
			{"local", "k", "allow", "", "nothing to lift: 3 of 3 left"},
			{"allow", "k", "allow", "", "nothing to lift: the view of the PoP is lost and " +
				"failure_mode is allow"},
			{
				"allow", "friend", "allow", "",
				"nothing to lift: allowed by hand (kim) for another 59m59s",
			},
			{"deny", "k", "deny", "limit", denied},
			{"deny", "foe", "deny", "block", "the block ends in 59m59s; `headgate unblock deny " +
				"foe` lifts it now"},
			{
				"shadow", "k", "allow", "limit",
				"nothing to lift: the rule is in shadow and allows everything; if enforced, " +
					denied,
			},
		} {
			v := explained(t, sourcesOf(j), tt.rule, tt.key)
			if !v.ViewLost || v.View != "node" || v.Verdict != tt.verdict || v.Why != tt.why ||
				v.LiftedBy != tt.lifts {
				t.Errorf("%s %s: lost %v, view %s, %s, why %q: %s", tt.rule, tt.key, v.ViewLost,
					v.View, v.Verdict, v.Why, v.LiftedBy)
			}
		}
	})
}
