package metrics

import (
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
	"github.com/prometheus/client_golang/prometheus"
)

// placeMetrics are the families of leases and pools. The labels rule, pool and tier are bounded by
// the configuration.
type placeMetrics struct {
	places                                metric
	leases, capacity, expired, late, full metric
	displaced                             metric
	level, utilisation, sources, crowded  metric
	denied, shed                          metric
	siblings, blasts                      metric
}

// newPlaceMetrics returns the families.
// Levels are gauges and not counters of denials: an alert asks how much is shed now.
func newPlaceMetrics() placeMetrics {
	return placeMetrics{
		places: gaugeOf("places_taken",
			"Places taken now under a rule of kind concurrency, by all keys.", "rule"),
		leases:   gaugeOf("leases", "Leases held now, of all rules of kind concurrency."),
		capacity: gaugeOf("lease_capacity", "Leases that can be held at most."),
		expired: counterOf("leases_expired_total",
			"Leases that ended because they were not released in time."),
		late: counterOf("leases_late_total",
			"Releases and renewals of leases that are unknown, were released or have ended."),
		full: counterOf("leases_full_total",
			"Requests that found no lease left, so that the failure mode of their rule decided."),
		displaced: counterOf("leases_displaced_total",
			"Leases that gave way to others where all were taken. Their release is late."),
		denied: counterOf("pool_denials_total", "Requests that the pool denied.", "pool"),
		shed: gaugeOf("pool_shed_ratio",
			"Share of the requests of the tier that the pool denies now.", "pool", "tier"),
		level: gaugeOf("pool_level", "Level of the pool: 1.3 sheds all of the first tier in its order, and 30 % of the second.", "pool"),
		utilisation: gaugeOf("pool_utilisation_ratio",
			"Mean share of the pool in use, as its sources report.", "pool"),
		sources: gaugeOf("pool_sources",
			"Sources that reported the load of the pool within its stale time.", "pool"),
		blasts: counterOf("blast_dropped_total",
			"Requests under blocked keys that found no room to have their clients counted."),
		siblings: counterOf("siblings_dropped_total", "Networks of a ladder that gave their place to others, with the narrower keys that asked under them."),
		crowded: counterOf("pool_reports_dropped_total",
			"Reports of the load of the pool that had no room for their source.", "pool"),
	}
}

// all returns the families, for Describe.
func (m *placeMetrics) all() []metric {
	return []metric{
		m.places, m.leases, m.capacity, m.expired, m.late, m.full, m.displaced, m.level,
		m.utilisation, m.sources, m.crowded, m.denied, m.shed, m.siblings, m.blasts,
	}
}

// collect sends the values; nothing of what the configuration does not have.
// A family without a rule or a pool has no series, so that a node which limits by windows alone
// shows none of it.
func (m *placeMetrics) collect(
	to chan<- prometheus.Metric, g *gate.Gate, room *ask.Room, now window.Instant,
) {
	// Room is 0 where no rule is of kind concurrency.
	if s := g.LeaseStats(now); s.Room > 0 {
		m.leases.set(to, float64(s.Live))
		m.capacity.set(to, float64(s.Room))
		m.expired.set(to, float64(s.Expired))
		m.late.set(to, float64(s.Late))
		m.full.set(to, float64(s.Full))
		m.displaced.set(to, float64(s.Displaced))
	}
	for _, u := range g.PlacesTaken(now) {
		m.places.set(to, float64(u.Places), u.Rule)
	}
	if s := g.SiblingStats(); s.Room > 0 {
		m.siblings.set(to, float64(s.Evicted))
	}
	if s := g.BlastStats(); s.Room > 0 {
		m.blasts.set(to, float64(s.Dropped))
	}
	if room == nil {
		return
	}
	for _, v := range room.Pools() {
		m.level.set(to, v.Level, v.Name)
		m.utilisation.set(to, v.Mean, v.Name)
		m.sources.set(to, float64(v.Sources), v.Name)
		m.crowded.set(to, float64(v.Crowded), v.Name)
		m.denied.set(to, float64(v.Denied), v.Name)
		// In the order in which tiers are shed: the first is the first to suffer.
		for i, tier := range v.Order {
			m.shed.set(to, v.Share(i), v.Name, tier)
		}
	}
}
