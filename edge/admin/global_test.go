package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// newGlobalNode returns a node called "a" that gossips, without a ring. stats counts for it, nil:
// nobody does; standing is how keys stand over all PoPs.
func newGlobalNode(
	stats func() api.GossipStats, standing explain.Standing, rules ...mitigation.Rule,
) *node {
	g := gate.New(gate.Options{
		Node: "a", Memory: 1 << 20, Rules: rules, Flush: 100 * time.Millisecond,
		Global: &gate.Global{}, Start: time.Now(),
	})
	gossip := func() *api.GossipView {
		connected, lost, _ := g.GlobalState()
		v := &api.GossipView{Connected: connected, Lost: lost}
		if stats != nil {
			v.GossipStats = stats()
			v.Lag = v.GossipStats.Lag.View()
		}
		return v
	}
	return newNodeOf(g, admin.Options{Local: true, PoP: "lhr", Gossip: gossip, Standing: standing})
}

// globalRule returns a rule of all PoPs, judged by rates where the limit is large.
func globalRule(name string, limit int64, over time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: name, Limit: limit, Window: over, Scope: mitigation.Global}
}

// TestClusterWorld checks the whole answer of a node without a ring that gossips, and that its view
// follows who is heard.
func TestClusterWorld(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newGlobalNode(gatetest.Gossip, nil, globalRule("r", 10, time.Minute))
	check := func(connected, lost bool, view string) {
		t.Helper()
		a.gate.SetGlobalState(connected, lost)
		v := askFor[api.ClusterView](t, a, "/v1/cluster")
		if v.View != view || v.Gossip.Connected != connected || v.Gossip.Lost != lost {
			t.Errorf("connected %v, lost %v: view %s, %+v", connected, lost, v.View, v.Gossip)
		}
	}
	check(false, false, "node")
	check(false, true, "node")
	check(true, false, "global")
	compareGolden(t, "cluster_world", a.ask("GET", "/v1/cluster", ""))
}

// TestClusterWorldWithoutSource: without statistics the answer shows only whether others are heard.
func TestClusterWorldWithoutSource(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newGlobalNode(nil, nil, globalRule("r", 10, time.Minute))
	a.gate.SetGlobalState(true, false)
	if v := askFor[api.ClusterView](t, a, "/v1/cluster"); v.View != "global" || v.Gossip == nil ||
		!v.Gossip.Connected || v.Gossip.Joins != 0 {
		t.Errorf("%+v, %+v", v, v.Gossip)
	}
	if v := askFor[api.ExplainView](t, a, "/v1/explain?rule=r&key=k"); v.Global != nil {
		t.Errorf("%+v", v.Global)
	}
	if w := a.ask("GET", "/metrics", ""); w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestLagWithin checks the bounds that shares of the records kept to.
func TestLagWithin(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	buckets := []api.LagBucket{
		{Within: 0.1, Count: 49},
		{Within: 0.5, Count: 98},
		{Within: 1, Count: 99},
		{Within: 30, Count: 99},
	}
	for _, tt := range []struct {
		count uint64
		want  string
	}{{0, "- -"}, {98, "0.1 0.5"}, {99, "0.5 1"}, {100, "0.5 1"}, {101, "0.5 -"}, {1000, "- -"}} {
		l := api.Lag{Count: tt.count, Buckets: buckets}
		v := l.View()
		var got []string
		for _, p := range []*float64{v.P50, v.P99} {
			if p == nil {
				got = append(got, "-")
				continue
			}
			got = append(got, fmt.Sprint(*p))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("of %d: %v, want %s", tt.count, got, tt.want)
		}
	}
}

// standingAt returns a source that knows standing of the key k of every rule, and of all other keys
// only their owner.
func standingAt(standing *control.Standing) explain.Standing {
	return func(_ window.Instant, _ string, key []byte) control.Standing {
		if string(key) != "k" {
			return control.Standing{Owner: "b"}
		}
		return *standing
	}
}

// TestExplainWorld checks what is said of a key that all PoPs share: before anything was said, of
// one judged by rates, of one judged by counts that is within its limit, and of rules that PoPs do
// not share.
func TestExplainWorld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		standing := control.Standing{
			View: control.GlobalView{
				Sum: 5000, Limit: 900, Share: 450, Shed: true,
				Others: window.Totals{Period: 7},
			},
			Rate: 800, Ratio: mitigation.RatioFor(5000, 900), Owner: "b", Standby: "c",
			Reporter: "a", Alone: true,
			Parts: []control.Part{{
				PoP: "b", Rate: 4200, Share: 470,
				Ratio: mitigation.RatioFor(4, 1),
			}, {PoP: "a", Alone: true, Rate: 800}},
		}
		standing.View.Others.By[0] = window.PeriodTotals{Offered: 20, Admitted: 3}
		standing.View.Others.By[5] = window.PeriodTotals{Offered: 30, Admitted: 4}
		a := newGlobalNode(nil, standingAt(&standing), globalRule("rate", 10_000, time.Second),
			globalRule("count", 3, 10*time.Second), gatetest.Shed)
		time.Sleep(time.Minute)
		standing.Viewed = a.gate.Now()
		standing.Parts[0].ReportedAt, standing.Parts[1].ReportedAt = standing.Viewed,
			standing.Viewed.Add(100*time.Millisecond)
		time.Sleep(250 * time.Millisecond)
		age := 0.25
		want := &api.KeyGlobalView{
			AgeSeconds: &age, OfferedRate: 5000, LimitRate: 900, ShareRate: 450, Shed: true,
			Ratio: standing.Ratio.Float(), PoPRate: 800,
			Owner: "b", Standby: "c", Reporter: "a", Alone: true,
			Others: &api.KeyOthersView{Offered: 50, Admitted: 7},
			PoPs: []api.KeyPoPView{
				{PoP: "a", Alone: true, OfferedRate: 800, AgeSeconds: 0.15},
				{PoP: "b", OfferedRate: 4200, ShareRate: 470, Ratio: 0.75, AgeSeconds: 0.25},
			},
		}
		check := func(target string, want *api.KeyGlobalView) {
			t.Helper()
			if diff := cmp.Diff(want,
				askFor[api.ExplainView](t, a, "/v1/explain?"+target).Global); diff != "" {
				t.Errorf("%s (-want +got):\n%s", target, diff)
			}
		}
		check("rule=rate&key=k", want)
		check("rule=rate&key=other", &api.KeyGlobalView{Owner: "b"})
		check("rule=shed&key=k", nil)
		a.refuse("count", "k") // more than its limit was asked for
		check("rule=count&key=k", want)
		time.Sleep(time.Minute)
		age, want.Ratio, want.PoPs[0].AgeSeconds, want.PoPs[1].AgeSeconds = 60.25, 0, 60.15, 60.25
		check("rule=count&key=k", want)
		// more than its limit elsewhere, by rates
		standing.RateOnly, want.Ratio = 4, standing.Ratio.Float()
		check("rule=count&key=k", want)
	})
}

// TestExplainWorldLifts checks what would let a key pass that all PoPs shed or block, or whose view
// is lost.
func TestExplainWorldLifts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		standing := control.Standing{View: control.GlobalView{
			Sum:   50_000,
			Limit: 10_000, Shed: true,
		}}
		block := globalRule("block", 5, time.Minute)
		block.Action, block.BlockFor = mitigation.Block, 10*time.Minute
		deny, allow := globalRule("deny", 5, time.Minute), globalRule("allow", 5, time.Minute)
		deny.FailureMode, allow.FailureMode = mitigation.FailDeny, mitigation.FailAllow
		a := newGlobalNode(nil, standingAt(&standing),
			globalRule("rate", 10_000, time.Second), block, deny, allow)
		a.gate.SetGlobalState(true, false)
		a.gate.Sweep(a.gate.Now())
		advise := func(rule string, v control.GlobalView, ratio mitigation.Ratio) {
			now := a.gate.Now()
			a.gate.Apply(now, control.Advice{
				Rule: rule, Key: []byte("k"), Index: indexOf(t, a.gate, rule, "k"),
				View: v, Ratio: ratio, Until: now.Add(time.Minute), From: "cdg",
			})
		}
		check := func(rule, want string) {
			t.Helper()
			v := askFor[api.ExplainView](t, a, "/v1/explain?rule="+rule+"&key=k")
			if v.LiftedBy != want {
				t.Errorf("%s: %s", rule, v.LiftedBy)
			}
		}
		advise("rate", standing.View, mitigation.RatioFor(1e9, 1)) // refuses them all
		check("rate", "100 % of its requests are denied at random, because this PoP receives "+
			"more than the limit and no totals from "+
			"other PoPs; that ends when fewer requests arrive, and `headgate allow rate k` ends "+
			"it now")
		standing.Viewed, standing.View.Limit = a.gate.Now(), 83.333
		check("rate", "100 % of its requests are denied at random, because all PoPs together "+
			"receive 50000 a second and 83.3 may pass; "+
			"that ends when fewer requests arrive, and `headgate allow rate k` ends it now")
		advise("block", control.GlobalView{Blocked: 10 * time.Minute}, 0)
		check("block", "the block, set by the count of all PoPs at cdg, ends in 10m; `headgate "+
			"unblock block k` lifts it now")
		a.gate.SetGlobalState(false, true)
		check("deny", "the view of all PoPs is lost and failure_mode is deny; requests pass "+
			"again once gossip reaches another node")
		check("allow", "nothing to lift: the view of all PoPs is lost and failure_mode is allow")
		if d := gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "deny", "k", 1); !d.Deny {
			t.Errorf("%+v", d)
		}
	})
}

// TestPartsKeepTheirOrder: the rows of a PoP, some of whose nodes count alone, do not change places
// with their ages.
func TestPartsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		standing := control.Standing{}
		a := newGlobalNode(nil, standingAt(&standing), globalRule("r", 10, time.Minute))
		time.Sleep(time.Hour)
		now := a.gate.Now()
		for _, older := range []time.Duration{time.Second, -time.Second} {
			standing.Parts = []control.Part{
				{PoP: "b", ReportedAt: now},
				{
					PoP:        "a",
					ReportedAt: now.Add(-2*time.Second - older),
				},
				{PoP: "a", Alone: true, ReportedAt: now.Add(-2 * time.Second)},
			}
			all := askFor[api.ExplainView](t, a, "/v1/explain?rule=r&key=k").Global.PoPs
			if len(all) != 3 || all[0].PoP != "a" || all[0].Alone || all[1].PoP != "a" ||
				!all[1].Alone || all[2].PoP != "b" {
				t.Errorf("%v older: %+v", older, all)
			}
		}
	})
}
