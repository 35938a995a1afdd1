package edge

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestClusterWorld checks the whole answer of a node without a ring that gossips, and that its view follows who is heard.
func TestClusterWorld(t *testing.T) {
	t.Parallel()
	a, _ := newWorldAdmin(t, WorldSource{Stats: worldStats}, worldwideRule("r", 10, time.Minute))
	check := func(connected, lost bool, view string) {
		t.Helper()
		a.edge.SetWorld(connected, lost)
		v := askFor[ClusterView](t, a, "/v1/cluster")
		if v.View != view || v.Gossip.Connected != connected || v.Gossip.Lost != lost {
			t.Errorf("connected %v, lost %v: view %s, %+v", connected, lost, v.View, v.Gossip)
		}
	}
	check(false, false, "node")
	check(false, true, "node")
	check(true, false, "global")
	compareAdmin(t, "cluster_world", a.ask("GET", "/v1/cluster", ""))
}

// TestClusterWorldWithoutSource: before anybody tells, it is shown who is heard, and nothing else.
func TestClusterWorldWithoutSource(t *testing.T) {
	t.Parallel()
	a, _ := newWorldAdmin(t, WorldSource{}, worldwideRule("r", 10, time.Minute))
	a.edge.SetWorld(true, false)
	if v := askFor[ClusterView](t, a, "/v1/cluster"); v.View != "global" || v.Gossip == nil || !v.Gossip.Connected || v.Gossip.Joins != 0 {
		t.Errorf("%+v, %+v", v, v.Gossip)
	}
	if v := askFor[ExplainView](t, a, "/v1/explain?rule=r&key=k"); v.World != nil {
		t.Errorf("%+v", v.World)
	}
	if w := a.ask("GET", "/metrics", ""); w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestLagWithin checks the bounds that shares of the records kept to.
func TestLagWithin(t *testing.T) {
	t.Parallel()
	buckets := []WorldBucket{{0.1, 49}, {0.5, 98}, {1, 99}, {30, 99}}
	for _, tt := range []struct {
		count uint64
		want  string
	}{{0, "- -"}, {98, "0.1 0.5"}, {99, "0.5 1"}, {100, "0.5 1"}, {101, "0.5 -"}, {1000, "- -"}} {
		l := WorldLag{Count: tt.count, Buckets: buckets}
		v := l.view()
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

// standingAt is a source that tells standing of the key k of a rule, and of all others nothing.
func standingAt(standing *WorldStanding) WorldSource {
	return WorldSource{Standing: func(_ window.Instant, _ string, key []byte) WorldStanding {
		if string(key) != "k" {
			return WorldStanding{Owner: "b"}
		}
		return *standing
	}}
}

// TestExplainWorld checks what is said of a key that all PoPs share: before anything was said, of one judged by rates, of one
// judged by counts that is within its limit, and of rules that are not the world's.
func TestExplainWorld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		standing := WorldStanding{
			View: mitigation.View{Sum: 5000, Limit: 900, Shed: true, Others: window.Totals{Period: 7}},
			Rate: 800, Ratio: mitigation.RatioFor(5000, 900), Owner: "b", Standby: "c", Reporter: "a", Alone: true, Woken: true,
			Shares: []mitigation.Share{{PoP: "b", Rate: 4200, Ratio: mitigation.RatioFor(4, 1)}, {PoP: "a", Alone: true, Rate: 800}},
		}
		standing.View.Others.By[0] = window.Told{Offered: 20, Admitted: 3}
		standing.View.Others.By[5] = window.Told{Offered: 30, Admitted: 4}
		a, _ := newWorldAdmin(t, standingAt(&standing), worldwideRule("rate", 10_000, time.Second), worldwideRule("count", 3, 10*time.Second), shedRule)
		time.Sleep(time.Minute)
		standing.Viewed = a.edge.Now()
		standing.Shares[0].Heard, standing.Shares[1].Heard = standing.Viewed, standing.Viewed.Add(100*time.Millisecond)
		time.Sleep(250 * time.Millisecond)
		age := 0.25
		want := &KeyWorldView{
			AgeSeconds: &age, OfferedRate: 5000, LimitRate: 900, Shed: true, Ratio: standing.Ratio.Float(), PoPRate: 800,
			Owner: "b", Standby: "c", Reporter: "a", Alone: true, Woken: true, Others: &KeyOthersView{Offered: 50, Admitted: 7},
			PoPs: []KeyPoPView{{PoP: "a", Alone: true, OfferedRate: 800, AgeSeconds: 0.15}, {PoP: "b", OfferedRate: 4200, Ratio: 0.75, AgeSeconds: 0.25}},
		}
		check := func(target string, want *KeyWorldView) {
			t.Helper()
			if diff := cmp.Diff(want, askFor[ExplainView](t, a, "/v1/explain?"+target).World); diff != "" {
				t.Errorf("%s (-want +got):\n%s", target, diff)
			}
		}
		check("rule=rate&key=k", want)
		check("rule=rate&key=other", &KeyWorldView{Owner: "b"})
		check("rule=shed&key=k", nil)
		a.refuse("count", "k") // more than its limit was asked for
		check("rule=count&key=k", want)
		time.Sleep(time.Minute)
		age, want.Ratio, want.PoPs[0].AgeSeconds, want.PoPs[1].AgeSeconds = 60.25, 0, 60.15, 60.25
		check("rule=count&key=k", want)
		standing.Unheard, want.Ratio = 4, standing.Ratio.Float() // more than its limit elsewhere, by what rates tell
		check("rule=count&key=k", want)
	})
}

// TestExplainWorldLifts checks what would let a key pass that all PoPs shed or block, or whose view is lost.
func TestExplainWorldLifts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		standing := WorldStanding{View: mitigation.View{Sum: 50_000, Limit: 10_000, Shed: true}}
		block := worldwideRule("block", 5, time.Minute)
		block.Action, block.BlockFor = mitigation.Block, 10*time.Minute
		deny, allow := worldwideRule("deny", 5, time.Minute), worldwideRule("allow", 5, time.Minute)
		deny.FailureMode, allow.FailureMode = mitigation.FailDeny, mitigation.FailAllow
		a, _ := newWorldAdmin(t, standingAt(&standing), worldwideRule("rate", 10_000, time.Second), block, deny, allow)
		a.edge.SetWorld(true, false)
		a.edge.Sweep(a.edge.Now())
		advise := func(rule string, v mitigation.View, ratio mitigation.Ratio) {
			now := a.edge.Now()
			a.edge.Advise(now, mitigation.Advice{
				Rule: rule, Key: []byte("k"), Index: a.edge.rules.Load().byName[rule].meter.Index([]byte("k")),
				View: v, Ratio: ratio, Until: now.Add(time.Minute), From: "cdg",
			})
		}
		check := func(rule, want string) {
			t.Helper()
			v := askFor[ExplainView](t, a, "/v1/explain?rule="+rule+"&key=k")
			if v.Lifts != want {
				t.Errorf("%s: %s", rule, v.Lifts)
			}
		}
		advise("rate", standing.View, mitigation.RatioFor(1e9, 1)) // refuses them all
		check("rate", "each request is drawn for: 100 % are refused, because this PoP is asked for more than the limit and nothing is heard "+
			"of the others; that ends when less is asked for, and `headgate allow rate k` ends it now")
		standing.Viewed, standing.View.Limit = a.edge.Now(), 83.333
		check("rate", "each request is drawn for: 100 % are refused, because all PoPs together are asked for 50000 a second and 83.3 may pass; "+
			"that ends when less is asked for, and `headgate allow rate k` ends it now")
		advise("block", mitigation.View{Blocked: 10 * time.Minute}, 0)
		check("block", "the block flag, the count of all PoPs by word of cdg, ends in 10m; `headgate unblock block k` lifts it now")
		a.edge.SetWorld(false, true)
		check("deny", "the view of the world is lost and failure_mode is deny; requests pass again once another node is heard by gossip")
		check("allow", "nothing to lift: the view of the world is lost and failure_mode is allow")
		if d := a.edge.Lane(0).Decide(a.edge.Now(), 0, query(wire.Check, "deny", "k", 1)); d.Answer.Status != wire.Deny {
			t.Errorf("%+v", d)
		}
	})
}

// TestSharesKeepTheirOrder: the rows of a PoP, some of whose nodes count alone, do not change places with their ages.
func TestSharesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	now := window.Instant(time.Hour)
	for _, older := range []time.Duration{time.Second, -time.Second} {
		all := viewShares(now, []mitigation.Share{
			{PoP: "b", Heard: now}, {PoP: "a", Heard: now.Add(-2*time.Second - older)}, {PoP: "a", Alone: true, Heard: now.Add(-2 * time.Second)},
		})
		if len(all) != 3 || all[0].PoP != "a" || all[0].Alone || all[1].PoP != "a" || !all[1].Alone || all[2].PoP != "b" {
			t.Errorf("%v older: %+v", older, all)
		}
	}
}
