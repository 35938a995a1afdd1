package main

import (
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
)

func (f *fakeAdmin) rules(w http.ResponseWriter, _ *http.Request) {
	reply(w, api.RulesView{Rules: []api.RuleView{
		{
			Name: "per-ip", Limit: 100, Window: 10, Scope: "pop", Action: "shed", Mode: "shadow",
			Denials: api.DenialsView{
				Since: clitest.Noon.Add(-26 * time.Hour), Requests: 12_345_678, Denied: 98_765,
				DeniedShare: 0.008, Keys: 8799, DeniedKeys: 12, DeniedKeyShare: 12.0 / 8799,
			},
		},
		{
			Name: "tenant", Limit: 10_000, Window: 1, Scope: "global", Fairness: "pops",
			Action: "shed", Mode: "enforce",
			Denials: api.DenialsView{Since: clitest.Noon.Add(-time.Minute)},
		},
		{
			Name: "fleet", Kind: "bucket", Limit: 1000, Window: 1, Burst: 2000, Scope: "node",
			Action: "shed", Mode: "enforce",
			Denials: api.DenialsView{Since: clitest.Noon.Add(-time.Minute)},
			Settings: []api.SettingView{
				{Name: "scope", Value: "node"},
				{Name: "burst", Value: "2000"},
				{Name: "reserve", Value: "{critical\x1b[2J: 20%}"},
			},
		},
		{
			Name: "signin/24,56", Limit: 20, Window: 60, Scope: "node", Action: "shed", Siblings: 3,
			Mode: "enforce", Denials: api.DenialsView{Since: clitest.Noon.Add(-time.Minute)},
		},
		{
			Name: "jobs", Kind: "concurrency", Limit: 3, Lease: 120, Scope: "node", Action: "shed",
			Mode:    "enforce",
			Places:  &api.PlacesView{Taken: 1234, Keys: 617, Leases: 1234},
			Denials: api.DenialsView{Since: clitest.Noon.Add(-time.Minute), Requests: 5000},
		},
	}})
}

func (f *fakeAdmin) suggest(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("rule") == "nope" && !f.known(w, r) {
		return
	}
	v := api.SuggestView{
		Rule: r.FormValue("rule"), Limit: 100, Window: 10, Action: "shed", Mode: "shadow",
		Since: clitest.Noon.Add(-26 * time.Hour), Until: clitest.Noon,
		Offered: 12_345_678, Keys: 8799, KeysError: 0.023, Rows: []api.SuggestRow{},
		Observed: api.ObservedView{Requests: 9_876_543, Denied: 432},
	}
	switch v.Rule {
	case "fleet":
		v.Kind, v.Limit, v.Window, v.Burst, v.Delay, v.Shared = "bucket", 1000, 1, 2000, 0.25, true
		v.Waited = &api.WaitedView{Requests: 1234, Mean: 0.1204}
		v.Sample = api.SampleView{Keys: 8799, BlindTo: 501}
		v.Rows = []api.SuggestRow{
			{
				Limit: 500, Cost: api.ShareRange{Low: 0.1, High: 0.3},
				Keys: api.ShareRange{Low: 0.2, High: 0.25}, AtLeast: true,
			},
			{
				Limit: 2000, Cost: api.ShareRange{Low: 0.008, High: 0.008},
				Keys: api.ShareRange{Low: 0.0013, High: 0.0014}, Note: "the rule's limit",
			},
		}
	case "jobs":
		v.Kind, v.Limit, v.Window, v.Held = "concurrency", 3, 0, &api.HeldView{Most: 3, Mean: 1.27}
		v.Rows = []api.SuggestRow{
			{
				Limit: 1, Cost: api.ShareRange{Low: 0.21, High: 0.21},
				Keys: api.ShareRange{Low: 0.4, High: 0.4}, AtLeast: true,
			},
			{Limit: 3, Cost: api.ShareRange{Low: 0.008, High: 0.008}, Note: "the rule's limit"},
		}
	case "partners":
		v.Counts = "offered"
		v.Rows = []api.SuggestRow{{Limit: 100, Note: "the rule's limit"}}
	case "workers":
		v = api.SuggestView{
			Rule: "workers", Kind: "pool", Since: v.Since, Until: v.Until,
			Rows: []api.SuggestRow{}, Pool: &api.PoolSeenView{
				Heard: 93_000, Silent: 600, Shedding: 0.021, Denied: 4711, ShedAbove: 0.85,
				RestoreBelow: 0.7,
				Busy: []api.BusyRow{
					{Above: 0.5, Share: 0.8},
					{Above: 0.7, Share: 0.31},
					{Above: 0.85, Share: 0.019},
					{Above: 1},
				},
				Tiers: []api.TierView{
					{Tier: "test", Ratio: 0.02},
					{Tier: "batch\x1b[2J", Ratio: 0.001},
					{Tier: "normal"},
				},
			},
		}
	case "tenant":
		v = api.SuggestView{
			Rule: "tenant", Kind: "pool", Rows: []api.SuggestRow{},
			Pool: &api.PoolSeenView{Silent: 60, ShedAbove: 0.85, RestoreBelow: 0.7},
		}
	case "per-ip":
		v.Shared = true
		v.Sample = api.SampleView{Keys: 1024, AllFrom: 12, BlindTo: 2, LateLooks: 3}
		v.Rows = []api.SuggestRow{
			{
				Limit: 1, Cost: api.ShareRange{Low: 0.51, High: 0.52},
				Keys: api.ShareRange{Low: 0.4, High: 0.4}, KeysError: 0.05, AtLeast: true,
			},
			{
				Limit: 80, Cost: api.ShareRange{Low: 0.00912, High: 0.00998},
				Keys: api.ShareRange{Low: 0.0014, High: 0.0014}, Note: "at most 1 %",
			},
			{
				Limit: 100, Cost: api.ShareRange{Low: 0.008, High: 0.008},
				Keys: api.ShareRange{Low: 0.0013, High: 0.0014}, Note: "the rule's limit",
			},
			{Limit: 5000, Note: "denies nothing"},
		}
	default:
		v.Action, v.Keys = "block", 1
	}
	reply(w, v)
}
