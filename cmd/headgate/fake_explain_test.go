package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
)

func (f *fakeAdmin) explain(w http.ResponseWriter, r *http.Request) {
	if !f.known(w, r) {
		return
	}
	since := clitest.Noon.Add(-95 * time.Second)
	v := api.ExplainView{
		Rule: r.FormValue("rule"), Now: clitest.Noon,
		Key:     cli.First(r.FormValue("shown"), cli.ShownKey(r.FormValue("key"))),
		Verdict: "allow", View: "node", Mode: "enforce",
		Scope: "node", FailureMode: "local", Limit: 100, Window: 10, Remaining: 97,
		Reset: 4, Estimate: 3,
		ErrorBound: 2.25, Confidence: 0.982, NoiseFloor: 0, PromoteAt: 50,
		LiftedBy: "nothing needs to", Policies: []string{"login", "api"},
	}
	if v.Key == "shadowed" {
		v.Mode, v.Why, v.Shadow, v.Remaining = "shadow", "limit", true, 0
	}
	explainShared(&v)
	explainKinds(&v, r)
	if v.Key == "203.0.113.7" {
		v.Verdict, v.Why, v.Limit, v.Window, v.Remaining, v.Retry = "deny", "block", 5, 60, 0, 540
		v.Suspect, v.SuspectSince, v.Admitted, v.Offered, v.Estimate = true, &since, 5, 1234, 1236
		v.Flag = &api.MitigationView{
			Rule: "login", Key: "203.0.113.7", Action: "block", Ratio: 1, Mode: "enforce",
			View: "node", Source: "self", Since: clitest.Noon.Add(-time.Minute),
			Expires: clitest.Noon.Add(9 * time.Minute),
		}
		v.LiftedBy = "the block's end in 9m, or `headgate unblock`"
		v.Sentences = []string{
			"A request with this key would be denied now.",
			"It is blocked \x1b[2Juntil 12:09.",
		}
		v.SubWindows = []api.SubWindowView{
			{Start: clitest.Noon.Add(-40 * time.Second), Estimate: 1200},
			{Start: clitest.Noon.Add(-20 * time.Second), Estimate: 36},
			{Start: clitest.Noon},
		}
	}
	reply(w, v)
}

// explainShared adds to v the view of a rule that the nodes of a PoP share, as the key of v selects
// it.
func explainShared(v *api.ExplainView) {
	age := 0.08
	switch v.Key {
	case "shared":
		v.View, v.Scope = "pop", "pop"
		v.Ring = &api.KeyRingView{
			Server: "192.0.2.1:11211", AgeSeconds: &age,
			OfferedRate: 12.46, Unsent: 3,
		}
	case "untold":
		v.View, v.Scope, v.Ring = "pop", "pop", &api.KeyRingView{Unsent: 4}
	case "worldwide":
		v.View, v.Scope = "global", "global"
		v.Global = &api.KeyGlobalView{
			AgeSeconds: &age, OfferedRate: 4987.3, LimitRate: 950, Shed: true, Ratio: 0.415,
			ShareRate: 475, PoPRate: 812.44,
			Owner: "cdg-1", Standby: "edge-2", Reporter: "edge-1",
			Others: &api.KeyOthersView{Offered: 900, Admitted: 88},
			PoPs: []api.KeyPoPView{
				{PoP: "cdg", OfferedRate: 4174.9, ShareRate: 475, Ratio: 0.8862},
				{
					PoP: "lhr\x1b[2J", Alone: true, OfferedRate: 812.44,
					ShareRate: 475, Ratio: 0.415,
				},
			},
		}
	case "unsaid":
		v.View, v.Scope, v.Global = "global", "global",
			&api.KeyGlobalView{Owner: "\x1b[2J", Alone: true, PoPRate: 3}
	case "lost-world":
		v.View, v.Scope, v.ViewLost, v.Global = "pop", "global", true, &api.KeyGlobalView{}
	case "lost-alone":
		v.Scope, v.ViewLost, v.Global = "global", true, &api.KeyGlobalView{}
	case "lost-local", "lost-allow", "lost-deny":
		age = 12
		v.Scope, v.ViewLost, v.FailureMode = "pop", true, strings.TrimPrefix(v.Key, "lost-")
		v.Ring = &api.KeyRingView{Server: "\x1b[2J", AgeSeconds: &age, OfferedRate: 1}
	}
}

// explainKinds adds to v the state of a key under a rule of another kind, as the key of v selects
// it.
func explainKinds(v *api.ExplainView, r *http.Request) {
	later, since := clitest.Noon.Add(1500*time.Millisecond), clitest.Noon.Add(-95*time.Second)
	switch v.Key {
	case "bucket":
		v.Kind, v.Suspect, v.SuspectSince, v.Admitted, v.Offered = "bucket", true, &since, 20, 30
		v.Bucket = &api.BucketView{
			Burst: 20, Left: 0, Fill: 0.02, FullAt: &later, Debt: 3,
			Token: 0.1, Delay: 0.5, Wait: 0.4,
		}
	case "full-bucket":
		v.Kind, v.Bucket = "bucket", &api.BucketView{Burst: 20, Left: 20, Fill: 1, Token: 0.1}
	case "places":
		v.Kind, v.Limit, v.Places = "concurrency", 3,
			&api.KeyPlacesView{Taken: 2, Leases: 1, Oldest: &since, Until: &later}
	case "no-places":
		v.Kind, v.Limit, v.Places = "concurrency", 3, &api.KeyPlacesView{}
	case "reserve":
		v.Reserve = []api.KeyReserveView{
			{Tier: "critical\x1b[2J", Most: 100, Left: 40},
			{Most: 80, Left: 20},
		}
	case "ladder":
		v.Ladder = []api.LevelView{
			{
				Rule: "per-ip/24,56", Key: "203.0.113.0/24", Verdict: "deny", Why: "limit",
				Used:  20,
				Limit: 20, Siblings: api.SiblingsView{Asked: 3, Needed: 3},
			},
			{
				Rule: "per-ip/16,48\x1b[2J", Key: "203.0.0.0/16", Verdict: "allow", Used: 21,
				Limit: 80, Siblings: api.SiblingsView{Asked: 1, Needed: 3},
			},
		}
	case "blast", "small-blast", "no-blast":
		clients := map[string]int{"blast": 140, "small-blast": 12}[v.Key]
		v.Blast, v.RetrySpread = &api.KeyBlastView{
			Clients: clients, Most: 100,
			Sheds: clients > 100,
		}, 0.1
	case "shed-by", "drawn":
		v.ShedBy = &api.ShedByView{
			Part: "client", Epoch: 10,
			Ends: clitest.Noon.Add(4 * time.Second),
		}
		if v.Key == "drawn" {
			denied := r.FormValue("by") == "203.0.113.7"
			v.ShedBy.By, v.ShedBy.Denied = r.FormValue("by"), &denied
		}
	case "strikes":
		v.Strikes = &api.KeyStrikesView{Blocks: 2, Next: 86400, Forgotten: &later}
	}
}
