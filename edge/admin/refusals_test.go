package admin_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
)

// refusalsOf returns what /v1/rules says that the rule called name refused.
func refusalsOf(t *testing.T, a *node, name string) api.DenialsView {
	t.Helper()
	for _, r := range askFor[api.RulesView](t, a, "/v1/rules").Rules {
		if r.Name == name {
			return r.Denials
		}
	}
	t.Fatalf("no rule %s", name)
	return api.DenialsView{}
}

// estimated returns the estimated number of these keys: two may share a register, which depends on
// the process.
func estimated(t *testing.T, a *node, rule string, keys []string) uint64 {
	t.Helper()
	var d sketch.Distinct
	for _, key := range keys {
		d.Note(indexOf(t, a.gate, rule, key))
	}
	return uint64(math.Round(d.Estimate()))
}

// TestRefusals: in shadow and in force alike, /v1/rules shows the share of requests, cost and keys
// that a limit refuses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	now := a.gate.Now()
	for _, rule := range []string{"shed", "shadow", "block"} {
		var met, refused []string
		for k := range 40 {
			for n := range k % 5 { // 0 to 4 of a limit of 3
				gatetest.Decide(a.gate, now, gate.Check, rule, fmt.Sprint(k), 1)
				met = append(met, fmt.Sprint(k))
				if n == 3 {
					refused = append(refused, fmt.Sprint(k))
				}
			}
		}
		// more than the limit: it needs no slot to be refused
		gatetest.Decide(a.gate, now, gate.Check, rule, "dear", 4)
		gatetest.Decide(a.gate, now, gate.Count, rule, "counted", 2)
		met, refused = append(met, "dear", "counted"), append(refused, "dear")
		got := refusalsOf(t, a, rule)
		if got.Requests != 81 || got.Denied != 9 || got.Offered != 86 || got.DeniedCost != 12 ||
			got.Keys != estimated(t, a, rule,
				met) || got.DeniedKeys != estimated(t, a, rule, refused) {
			t.Errorf("%s: %+v", rule, got)
		}
		if got.DeniedShare != 9.0/81 || got.DeniedCostShare != 12.0/86 ||
			got.DeniedKeyShare != float64(got.DeniedKeys)/float64(got.Keys) ||
			got.KeysError != 0.023 {
			t.Errorf("%s: shares %+v", rule, got)
		}
	}
	if got := refusalsOf(t, a, "off"); got.Requests+got.Denied+got.Keys+got.DeniedKeys != 0 ||
		got.DeniedKeyShare != 0 {
		t.Errorf("off: %+v", got)
	}
}

// TestRefusalsAreOfOneLimit: with another limit, another window, or out of the shadow, they begin
// anew; totals never do.
func TestRefusalsAreOfOneLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rule := mitigation.Rule{
			Name: "r", Limit: 3, Window: 10 * time.Second,
			Mode: mitigation.Shadow,
		}
		a := newNodeOf(gatetest.New(t, 1<<20, rule), admin.Options{Local: true})
		began := a.gate.Now()
		for n, c := range []struct {
			what   string
			change func(*mitigation.Rule)
			anew   bool
		}{
			{"nothing", func(*mitigation.Rule) {}, false},
			{"action", func(r *mitigation.Rule) {
				r.Action, r.BlockFor = mitigation.Block,
					time.Second
			}, false},
			{"limit", func(r *mitigation.Rule) { r.Limit = 4 }, true},
			{"window", func(r *mitigation.Rule) { r.Window = time.Second }, true},
			{"force", func(r *mitigation.Rule) { r.Mode = mitigation.Enforce }, true},
			{"shadow", func(r *mitigation.Rule) { r.Mode = mitigation.Shadow }, false},
		} {
			time.Sleep(time.Minute)
			for range 5 {
				gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "r", fmt.Sprint(n), 1)
			}
			before := refusalsOf(t, a, "r")
			c.change(&rule)
			a.gate.Reload(time.Now(), []mitigation.Rule{rule})
			got := refusalsOf(t, a, "r")
			if c.anew && (got.Requests != 0 || got.Denied != 0 || got.Offered != 0 ||
				got.DeniedKeys != 0 || !got.Since.Equal(a.gate.Shown(a.gate.Now()))) {
				t.Errorf("%s changed: %+v does not begin anew", c.what, got)
			}
			if !c.anew && (got != before || got.Denied == 0 ||
				got.Since.Before(a.gate.Shown(began))) {
				t.Errorf("%s changed: %+v was %+v", c.what, got, before)
			}
		}
		if total := askFor[api.RulesView](t, a, "/v1/rules").Rules[0].Offered; total != 30 {
			t.Errorf("%v in all, want 30", total)
		}
	})
}
