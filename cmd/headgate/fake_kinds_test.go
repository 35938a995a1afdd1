package main

import (
	"net/http"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
)

// topOfKinds is a list of keys under rules of every kind, or under one of them.
func topOfKinds(rule string) api.TopsView {
	full, oldest := clitest.Noon.Add(116*time.Second), clitest.Noon.Add(-95*time.Second)
	all := []api.TopView{
		{
			Rule: "jobs", Key: clitest.HostileKey, Kind: "concurrency", Cut: true, Offered: 3,
			Admitted: 3, Limit: 3, Share: 1, State: "full", Oldest: &oldest,
		},
		{
			Rule: "api", Key: "tenant-1", Kind: "bucket", Offered: 25, Admitted: 20, Limit: 20,
			Share: 1.25, State: "shed", FullAt: &full,
		},
		{
			Rule: "api", Key: "tenant-2", Kind: "bucket", Offered: 2, Limit: 20,
			Share: 0.1, State: "ok",
		},
		{
			Rule: "per-ip", Key: "198.51.100.20", Kind: "window", Offered: 42, Admitted: 42,
			Limit: 100, Share: 0.42, State: "ok",
		},
	}
	return api.TopsView{Top: slices.DeleteFunc(all,
		func(t api.TopView) bool { return rule != "" && t.Rule != rule })}
}

func (f *fakeAdmin) pools(w http.ResponseWriter, _ *http.Request) {
	heard := clitest.Noon.Add(-1200 * time.Millisecond)
	reply(w, api.PoolsView{Now: clitest.Noon, Pools: []api.PoolView{
		{
			Name: "workers", Level: 1.3, Utilisation: 0.934, Sources: 3, Heard: &heard,
			Reports: 1000, ShedAbove: 0.85, RestoreBelow: 0.7,
			Tiers: []api.TierView{
				{Tier: "test", Ratio: 1},
				{Tier: "batch\x1b[2J", Ratio: 0.3},
				{Tier: "normal"},
			},
		},
		{Name: "db", ShedAbove: 0.85, RestoreBelow: 0.7, Tiers: []api.TierView{{Tier: "normal"}}},
	}})
}

func (f *fakeAdmin) rls(w http.ResponseWriter, _ *http.Request) {
	updated := clitest.Noon.Add(-90 * time.Second)
	shop := api.RLSDomainView{Name: "gw/shop\x1b[2J", Descriptors: 16384}
	all := []api.RLSDomainView{{Name: "own", Descriptors: 2, Source: "files"}, shop}
	all[1].Source = "xds"
	reply(w, api.RLSView{
		Files: []string{"/etc/limits.yaml"}, Domains: all,
		XDS: &api.XDSView{
			Server: "gateway:18001", NodeID: "envoy-ratelimit", Connected: true, Version: "5",
			Error: `resource "gw/shop": descriptor a_b: unknown field 9`, Updated: &updated,
			Since: clitest.Noon.Add(-time.Hour), Domains: []api.RLSDomainView{shop},
		},
	})
}

func (f *fakeAdmin) leases(w http.ResponseWriter, r *http.Request) {
	switch view := (api.LeasesView{Now: clitest.Noon, Rule: "jobs", Limit: 3}); {
	case r.FormValue("rule") != "jobs":
		refuse(w, http.StatusBadRequest, "rule is not of kind concurrency: it has no leases")
	case r.FormValue("key") == "idle":
		view.Key = "idle"
		reply(w, view)
	case r.FormValue("key") != "":
		view.Key, view.Taken = clitest.HostileKey, 2
		view.Leases = []api.LeaseView{{
			Lease: "00c0ffee00000001", Places: 2,
			Since: clitest.Noon.Add(-95 * time.Second), Until: clitest.Noon.Add(25 * time.Second),
		}}
		reply(w, view)
	default:
		view.Taken, view.Keys = 4, 2
		view.Held = []api.HolderView{
			{
				Key: clitest.HostileKey, Cut: true, Places: 3,
				Oldest: clitest.Noon.Add(-95 * time.Second),
			},
			{Key: "k", Places: 1, Oldest: clitest.Noon.Add(-time.Second)},
		}
		reply(w, view)
	}
}
