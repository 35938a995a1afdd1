package edge

import "github.com/prometheus/client_golang/prometheus"

// worldMetrics are the families of counting together with other PoPs. There are no series of them without gossip, and none
// by member or PoP: their number is not this node's to bound.
type worldMetrics struct {
	connected, lost, members, pops, mismatched              metric
	bytes, packets, records, rejected, dropped              metric
	lag, queue                                              metric
	joins, rejoins, joinErrors, conflicts, health           metric
	keys, shed, guarded, debt, pressed, deferred, forgotten metric
}

func newWorldMetrics() worldMetrics {
	return worldMetrics{
		connected:  gaugeOf("gossip_connected", "Whether other nodes are heard, or there are none to be heard."),
		lost:       gaugeOf("gossip_lost", "Whether none was heard for so long that the failure modes of global rules act."),
		members:    gaugeOf("gossip_members", "Nodes that are known, this one included.", "state"),
		pops:       gaugeOf("gossip_pops", "PoPs of which a node is alive, this one included."),
		mismatched: gaugeOf("gossip_mismatched_members", "Living nodes that differ from this one in what all should share.", "what"),
		bytes:      counterOf("gossip_bytes_total", "Bytes on the network, framing and encryption included.", "direction"),
		packets:    counterOf("gossip_packets_total", "Datagrams and streams.", "direction"),
		records:    counterOf("gossip_records_total", "Records in them.", "kind", "direction"),
		rejected:   counterOf("gossip_rejected_total", "Records and packets that were read and not believed.", "reason"),
		dropped:    counterOf("gossip_dropped_total", "Packets, records and log lines that did not fit or could not be read.", "reason"),
		lag: summaryOf("gossip_lag_seconds",
			"How long records had waited on their way, but for the network's own time, when this node first heard them."),
		queue:      gaugeOf("gossip_queue_length", "What waits to be spread, taken in or sent.", "queue"),
		joins:      counterOf("gossip_joins_total", "Successful exchanges with seeds and members that had been dead."),
		rejoins:    counterOf("gossip_rejoins_total", "Those with members that had been dead."),
		joinErrors: counterOf("gossip_join_errors_total", "Attempts that failed."),
		conflicts:  counterOf("gossip_name_conflicts_total", "Sightings of another node with a name that is taken."),
		health:     gaugeOf("gossip_health_score", "0: well; higher: this node is slow to answer the others."),

		keys:      gaugeOf("control_keys", "Keys of global rules by this node's part in them.", "role"),
		shed:      gaugeOf("control_shed_keys", "Keys owned here that are above their limit."),
		guarded:   gaugeOf("control_guarded_keys", "Keys owned here of which many PoPs are silent at once, and believed for a while."),
		debt:      gaugeOf("control_debt_seconds", "The most that a key owned here was admitted too much and makes up for, in seconds of its limit."),
		pressed:   gaugeOf("control_pressed", "Whether too many keys are over their limits to tell their counts, so that rates are told."),
		deferred:  counterOf("control_deferred_total", "Reports, answers and notices put off for want of budget."),
		forgotten: counterOf("control_full_total", "Times that there was no room to remember something."),
	}
}

func (m *worldMetrics) all() []metric {
	return []metric{
		m.connected, m.lost, m.members, m.pops, m.mismatched,
		m.bytes, m.packets, m.records, m.rejected, m.dropped, m.lag, m.queue,
		m.joins, m.rejoins, m.joinErrors, m.conflicts, m.health,
		m.keys, m.shed, m.guarded, m.debt, m.pressed, m.deferred, m.forgotten,
	}
}

func (m *worldMetrics) collect(to chan<- prometheus.Metric, v *GossipView) {
	m.connected.set(to, flagOf(v.Connected))
	m.lost.set(to, flagOf(v.Lost))
	m.collectMembers(to, &v.WorldStats)
	m.collectTraffic(to, &v.WorldStats)
	m.joins.set(to, float64(v.Joins))
	m.rejoins.set(to, float64(v.Rejoins))
	m.joinErrors.set(to, float64(v.JoinErrors))
	m.conflicts.set(to, float64(v.Conflicts))
	m.health.set(to, float64(v.Health))
	m.collectControl(to, &v.WorldStats)
}

func (m *worldMetrics) collectMembers(to chan<- prometheus.Metric, s *WorldStats) {
	var sum WorldPoP
	pops := 0
	for _, p := range s.PoPs {
		sum.Alive, sum.Dead, sum.Left = sum.Alive+p.Alive, sum.Dead+p.Dead, sum.Left+p.Left
		if p.Alive > 0 {
			pops++
		}
	}
	m.members.set(to, float64(sum.Alive), "alive")
	m.members.set(to, float64(sum.Dead), "dead")
	m.members.set(to, float64(sum.Left), "left")
	m.pops.set(to, float64(pops))
	m.mismatched.set(to, float64(s.Mismatches.Ring), "ring")
	m.mismatched.set(to, float64(s.Mismatches.Rules), "rules")
	m.mismatched.set(to, float64(s.Mismatches.Wire), "wire")
}

func (m *worldMetrics) collectTraffic(to chan<- prometheus.Metric, s *WorldStats) {
	both := func(family metric, f WorldFlow, labels ...string) {
		family.set(to, float64(f.In), append(labels, "in")...)
		family.set(to, float64(f.Out), append(labels, "out")...)
	}
	both(m.bytes, s.Bytes)
	both(m.packets, s.Packets)
	for kind, f := range s.Records {
		both(m.records, f, kind)
	}
	for reason, n := range s.Rejected {
		m.rejected.set(to, float64(n), reason)
	}
	for reason, n := range s.Dropped {
		m.dropped.set(to, float64(n), reason)
	}
	buckets := make(map[float64]uint64, len(s.Lag.Buckets))
	for _, b := range s.Lag.Buckets {
		buckets[b.Within] = b.Count
	}
	to <- prometheus.MustNewConstHistogram(m.lag.desc, s.Lag.Count, s.Lag.Sum.Seconds(), buckets)
	m.queue.set(to, float64(s.Queue.Spreading), "spread")
	m.queue.set(to, float64(s.Queue.Waiting), "receive")
	m.queue.set(to, float64(s.Queue.Sending), "send")
}

func (m *worldMetrics) collectControl(to chan<- prometheus.Metric, s *WorldStats) {
	m.keys.set(to, float64(s.Keys.Measured), "measured")
	m.keys.set(to, float64(s.Keys.Reported), "reported")
	m.keys.set(to, float64(s.Keys.Owned), "owned")
	m.keys.set(to, float64(s.Keys.Woken), "woken")
	m.shed.set(to, float64(s.Keys.Shed))
	m.guarded.set(to, float64(s.Keys.Guarded))
	m.debt.set(to, s.MostDebt)
	m.pressed.set(to, flagOf(s.Pressed))
	m.deferred.set(to, float64(s.Deferred))
	m.forgotten.set(to, float64(s.Full))
}
