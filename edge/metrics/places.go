package metrics

import (
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

// placeFamilies are the families of leases and pools. Levels are gauges and not counters of
// denials: an alert asks how much is shed
// now. rule, pool and tier are bounded by the configuration.
var placeFamilies = []family{
	{"places_taken", "rule", "Places taken now under a rule of kind concurrency, by all keys."},
	{"leases", "", "Leases held now, of all rules of kind concurrency."},
	{"lease_capacity", "", "Leases that can be held at most."},
	{"leases_expired_total", "", "Leases that ended because they were not released in time."},
	{
		"leases_late_total", "",
		"Releases and renewals of leases that are unknown, were released or have ended.",
	},
	{
		"leases_full_total", "",
		"Requests that found no lease left, so that the failure mode of their rule decided.",
	},
	{
		"leases_displaced_total", "",
		"Leases that gave way to others where all were taken. Their release is late.",
	},
	{"pool_denials_total", "pool", "Requests that the pool denied."},
	{
		"pool_shed_ratio", "pool tier",
		"Share of the requests of the tier that the pool denies now.",
	},
	{
		"pool_level", "pool",
		"Level of the pool: 1.3 sheds all of the first tier in its order, and 30 % of the " +
			"second.",
	},
	{"pool_utilisation_ratio", "pool", "Mean share of the pool in use, as its sources report."},
	{"pool_sources", "pool", "Sources that reported the load of the pool within its stale time."},
	{
		"blast_dropped_total", "",
		"Requests under blocked keys that found no room to have their clients counted.",
	},
	{
		"siblings_dropped_total", "",
		"Networks of a ladder that gave their place to others, with the narrower keys that " +
			"asked under them.",
	},
	{
		"pool_reports_dropped_total", "pool",
		"Reports of the load of the pool that had no room for their source.",
	},
}

// collectPlaces sends the values; nothing of rules and pools the configuration does not have. A
// family without a rule or a pool has no series, so a node which limits by windows alone shows none
// of it.
func collectPlaces(
	to scrape, g *gate.Gate, room *ask.Room, now window.Instant,
) {
	// Room is 0 where no rule is of kind concurrency.
	if s := g.LeaseStats(now); s.Room > 0 {
		put(to, "leases", s.Live)
		put(to, "lease_capacity", s.Room)
		put(to, "leases_expired_total", s.Expired)
		put(to, "leases_late_total", s.Late)
		put(to, "leases_full_total", s.Full)
		put(to, "leases_displaced_total", s.Displaced)
	}
	for _, u := range g.PlacesTaken(now) {
		put(to, "places_taken", u.Places, u.Rule)
	}
	if s := g.SiblingStats(); s.Room > 0 {
		put(to, "siblings_dropped_total", s.Evicted)
	}
	if s := g.BlastStats(); s.Room > 0 {
		put(to, "blast_dropped_total", s.Dropped)
	}
	if room == nil {
		return
	}
	for _, v := range room.Pools() {
		put(to, "pool_level", v.Level, v.Name)
		put(to, "pool_utilisation_ratio", v.Mean, v.Name)
		put(to, "pool_sources", v.Sources, v.Name)
		put(to, "pool_reports_dropped_total", v.Crowded, v.Name)
		put(to, "pool_denials_total", v.Denied, v.Name)
		// In the order in which tiers are shed: the first is the first to suffer.
		for i, tier := range v.Order {
			put(to, "pool_shed_ratio", v.Share(i), v.Name, tier)
		}
	}
}
