package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation"
)

// byHand returns how a flag of the key k is set by hand.
func byHand(rule, action string) func(*node) {
	return func(a *node) {
		a.ask("POST", "/v1/mitigations",
			fmt.Sprintf(`{"rule":%q,"key":"k","action":%q,"by":"kim","ttl":"10m"}`, rule, action))
	}
}

// TestAdminLifts checks that a key, odd bytes included, and changes by hand reach the explanation.
// edge/explain tests every state of a key.
func TestAdminLifts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, key, verdict, lifts string
		before                    func(a *node)
	}{
		{
			"block", "-k'", "deny",
			"the block ends in 59s; `headgate unblock -- block $'-k\\x27'` lifts it now",
			func(a *node) { a.refuse("block", "-k'") },
		},
		{
			"shed", "k", "deny",
			"the block ends in 9m59s; `headgate unblock shed k` lifts it now",
			byHand("shed", "block"),
		},
		{
			"shed", "k", "allow", "nothing to lift: allowed by hand (kim) for another 9m59s",
			byHand("shed", "allow"),
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newNode(t, admin.Options{Local: true})
			tt.before(a)
			time.Sleep(1500 * time.Millisecond)
			v := askFor[api.ExplainView](t, a,
				"/v1/explain?"+url.Values{"rule": {tt.rule}, "key": {tt.key}}.Encode())
			if v.Verdict != tt.verdict || v.LiftedBy != tt.lifts {
				t.Errorf("%s %s: %s, want %s", tt.rule, v.Verdict, v.LiftedBy, tt.lifts)
			}
		})
	}
}

// flagRatio gives the key k of rule a drop ratio, as a node does that starts with the state of an
// earlier one.
func (a *node) flagRatio(rule string, ratio mitigation.Ratio) {
	now, r := a.gate.Now(), a.gate.Rule([]byte(rule))
	written := a.gate.Wall(now).UnixMicro()
	_, _ = a.gate.Restore(now, &gate.Snapshot{
		Written: written, Rules: []snapshot.Rule{{
			Name: rule, Window: r.Window,
			Shadow: r.Mode == mitigation.Shadow,
		}},
		Flags: []snapshot.Flag{{
			Key: []byte("k"), Ratio: ratio, Since: written,
			Until: written + r.Window.Microseconds(),
		}},
	}, 0)
}

// TestAdminExplainCountsNothing checks that asking changes no count.
func TestAdminExplainCountsNothing(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	for range 10 {
		if v := askFor[api.ExplainView](t, a, "/v1/explain?rule=shed&key=k"); v.Remaining != 3 ||
			v.Offered != 0 || v.Suspect {
			t.Fatalf("%+v", v)
		}
	}
	if r := askFor[api.RulesView](t, a, "/v1/rules").Rules[0]; r.Offered != 0 {
		t.Errorf("%+v", r)
	}
}

// TestAdminRuleGone checks that a rule that a reload takes away while it is explained is said to be
// gone.
func TestAdminRuleGone(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	a.gate.SetRules([]mitigation.Rule{gatetest.Block})
	checkProblem(t, a.ask("GET", "/v1/explain?rule=shed&key=k", ""), http.StatusNotFound, "rule")
}

// TestExplainByAPart: the parameter by is for rules with shed_by, and an address is the key of a
// client.
func TestExplainByAPart(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a, _ := newNodeUnder(t, `
rules:
  - {name: shed, limit: 3, window: 10s, shed_by: client, epoch: 1h}
  - {name: each, limit: 3, window: 10s}
policies:
  - {name: site, match: {}, key: host, rules: [shed]}
`)
	a.flagRatio("shed", mitigation.MaxRatio)
	for by, want := range map[string]string{
		"203.0.113.7": "203.0.113.7",
		"2001:db8::7": "2001:db8::/64", "session-1": "session-1",
	} {
		v := askFor[api.ExplainView](t, a,
			"/v1/explain?rule=shed&key=k&by="+url.QueryEscape(by)).ShedBy
		if v == nil || v.By != want || v.Denied == nil || !*v.Denied ||
			v.Part != "client" || v.Epoch != 3600 {
			t.Errorf("by %s: %+v", by, v)
		}
	}
	if v := askFor[api.ExplainView](t, a, "/v1/explain?rule=each&key=k"); v.ShedBy != nil {
		t.Errorf("a rule without shed_by: %+v", v.ShedBy)
	}
}
