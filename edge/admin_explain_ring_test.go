package edge

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestExplainRing follows what is said of one key's counters: nothing before it is asked for, no server before the first
// flush, then what the PoP counted, its age, and what is not told yet.
func TestExplainRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJoined(t, "a", newTelling(), popRule(10, 10*time.Second), mitigation.Rule{Name: "own", Limit: 10, Window: 10 * time.Second})
		pass(2*time.Second, j)
		ask := func(rule string, cost uint32) {
			j.edge.Lane(0).Decide(j.edge.Now(), 0, query(wire.Check, rule, "k", cost))
		}
		check := func(when string, want *KeyRingView) {
			t.Helper()
			v := askFor[ExplainView](t, j.Admin, "/v1/explain?rule=r&key=k")
			if diff := cmp.Diff(want, v.Ring); diff != "" || v.ViewLost {
				t.Errorf("%s, lost %v (-want +got):\n%s", when, v.ViewLost, diff)
			}
		}
		age := func(s float64) *float64 { return &s }
		check("never asked for", nil)
		ask("r", 4)
		check("before a flush", &KeyRingView{OfferedRate: 0.4, Untold: 4})
		pass(testEvery, j)
		ask("r", 1)
		time.Sleep(250 * time.Millisecond)
		check("after it", &KeyRingView{Server: "/run/mc.sock", AgeSeconds: age(0.25), OfferedRate: 0.5, Untold: 1})
		ask("own", 1)
		if v := askFor[ExplainView](t, j.Admin, "/v1/explain?rule=own&key=k"); v.Ring != nil || v.ViewLost {
			t.Errorf("a rule that is not shared: %+v, lost %v", v.Ring, v.ViewLost)
		}
	})
}

// TestExplainRate: the rate is what was asked for at all nodes, and what was admitted above the pace is owed.
func TestExplainRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newJoined(t, "a", newTelling(), popRule(10_000, time.Second))
		b := newJoined(t, "b", a.tally, popRule(10_000, time.Second))
		for range 30 {
			for _, j := range []*joined{a, b} {
				j.edge.Lane(0).Decide(j.edge.Now(), 0, query(wire.Check, "r", "k", 1000))
			}
			pass(testEvery, a, b)
		}
		v := askFor[ExplainView](t, a.Admin, "/v1/explain?rule=r&key=k").Ring
		if v == nil || v.OfferedRate < 18_000 || v.OfferedRate > 22_000 || v.Debt == 0 {
			t.Errorf("%+v, of 20,000 a second offered", v)
		}
	})
}

// TestExplainLost checks what is said of a key whose view is lost: what its rule's failure mode does, and what would let the
// key through.
func TestExplainLost(t *testing.T) {
	t.Parallel()
	const denied = "the view of the PoP is lost and failure_mode is deny; requests pass again once the ring answers"
	rule := func(name string, f mitigation.FailureMode, m mitigation.Mode) mitigation.Rule {
		return mitigation.Rule{Name: name, Limit: 3, Window: 10 * time.Second, Scope: mitigation.PoP, FailureMode: f, Mode: m}
	}
	synctest.Test(t, func(t *testing.T) {
		j := newJoined(t, "a", newTelling(),
			rule("local", mitigation.FailLocal, mitigation.Enforce), rule("allow", mitigation.FailAllow, mitigation.Enforce),
			rule("deny", mitigation.FailDeny, mitigation.Enforce), rule("shadow", mitigation.FailDeny, mitigation.Shadow))
		pass(time.Second, j)
		j.ask("POST", "/v1/mitigations", `{"rule":"allow","key":"friend","action":"allow","by":"kim","ttl":"1h"}`)
		j.ask("POST", "/v1/mitigations", `{"rule":"deny","key":"foe","action":"block","by":"kim","ttl":"1h"}`)
		j.tally.down[0], j.tally.down[1] = true, true
		pass(time.Second, j)
		for _, tt := range []struct{ rule, key, verdict, why, lifts string }{
			{"local", "k", "allow", "", "nothing to lift: 3 of 3 left"},
			{"allow", "k", "allow", "", "nothing to lift: the view of the PoP is lost and failure_mode is allow"},
			{"allow", "friend", "allow", "", "nothing to lift: allowed by hand (kim) for another 59m59s"},
			{"deny", "k", "deny", "limit", denied},
			{"deny", "foe", "deny", "block", "the block flag ends in 59m59s; `headgate unblock deny foe` lifts it now"},
			{"shadow", "k", "allow", "limit", "nothing to lift: the rule is in shadow and lets everything pass; were it enforced, " + denied},
		} {
			v := askFor[ExplainView](t, j.Admin, "/v1/explain?rule="+tt.rule+"&key="+tt.key)
			if !v.ViewLost || v.View != "node" || v.Verdict != tt.verdict || v.Why != tt.why || v.Lifts != tt.lifts {
				t.Errorf("%s %s: lost %v, view %s, %s, why %q: %s", tt.rule, tt.key, v.ViewLost, v.View, v.Verdict, v.Why, v.Lifts)
			}
		}
	})
}
