package metrics

import (
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/prometheus/client_golang/prometheus"
)

// globalMetrics are the families of counting together with other PoPs. A node without gossip has no
// series of them. Members and PoPs are no labels: this node cannot bound their number.
type globalMetrics struct {
	connected, lost, members, pops, mismatched                 metric
	bytes, packets, records, rejected, dropped                 metric
	lag, queue                                                 metric
	joins, rejoins, joinErrors, conflicts, health              metric
	keys, shed, guarded, debt, overloaded, deferred, forgotten metric
	counts, countsWaiting, countsDropped, countsDisplaced      metric
}

// newGlobalMetrics returns the families. The label direction is in or out; state is alive, dead or
// left; what names the setting that differs: ring, rules, wire or clock; queue is spread, receive
// or send; role is measured, reported, owned or hinted. Kinds and reasons are the fixed words of
// packages gossip and coordinator.
func newGlobalMetrics() globalMetrics {
	return globalMetrics{
		connected:  gaugeOf("gossip_connected", "1 if this node receives trusted gossip records from other nodes, or if there are no other nodes; else 0."),
		lost:       gaugeOf("gossip_lost", "1 if no gossip record from another node has arrived for so long that failure_mode of global rules applies, else 0."),
		members:    gaugeOf("gossip_members", "Nodes known to gossip by state, this one included.", "state"),
		pops:       gaugeOf("gossip_pops", "PoPs with at least one living node, this one included."),
		mismatched: gaugeOf("gossip_mismatched_members", "Living nodes that differ from this one where all should agree: ring servers, global rules, wire version or clock.", "what"),
		bytes:      counterOf("gossip_bytes_total", "Bytes of gossip on the network, including framing and encryption.", "direction"),
		packets:    counterOf("gossip_packets_total", "Gossip datagrams and streams, by direction.", "direction"),
		records:    counterOf("gossip_records_total", "Gossip records by kind and direction.", "kind", "direction"),
		rejected:   counterOf("gossip_rejected_total", "Gossip records and packets that were read and rejected, by reason.", "reason"),
		dropped:    counterOf("gossip_dropped_total", "Gossip packets, records and log lines dropped because they did not fit or could not be read.", "reason"),
		lag: summaryOf("gossip_lag_seconds",
			"Time that records spent waiting at nodes, without the network's own delay, before this node first received them."),
		queue:      gaugeOf("gossip_queue_length", "Length of the gossip queues: records to spread, messages to receive, packets to send.", "queue"),
		joins:      counterOf("gossip_joins_total", "Successful gossip joins, with seeds or with members that had been dead."),
		rejoins:    counterOf("gossip_rejoins_total", "Successful gossip joins with members that had been dead."),
		joinErrors: counterOf("gossip_join_errors_total", "Failed attempts to join other gossip members."),
		conflicts:  counterOf("gossip_name_conflicts_total", "Times gossip saw another node with a name already in use."),
		health:     gaugeOf("gossip_health_score", "0 if the node answers gossip probes in time; higher if it is slow."),

		keys:       gaugeOf("control_keys", "Keys of global rules by the role of this node: measured, reported, owned or hinted.", "role"),
		shed:       gaugeOf("control_shed_keys", "Keys owned by this node that are above their limit."),
		guarded:    gaugeOf("control_guarded_keys", "Keys owned by this node that still use the last reports of PoPs because many PoPs fell silent at once."),
		debt:       gaugeOf("control_debt_seconds", "Largest excess admission that a key owned by this node still has to repay, in seconds of its limit."),
		overloaded: gaugeOf("control_overloaded", "1 if so many keys of global rules are over their limits that rates are sent instead of counts, else 0."),
		deferred:   counterOf("control_deferred_total", "Reports, answers and hints for global rules postponed because the packet budget was used up."),
		forgotten:  counterOf("control_full_total", "Times a table of the control loop for global rules was full."),

		counts:          counterOf("control_counts_total", "Counts of keys of small global limits that went from PoP to PoP, by direction.", "direction"),
		countsWaiting:   gaugeOf("control_counts_waiting_keys", "Keys of small global limits with counts that wait for the packet budget."),
		countsDropped:   counterOf("control_counts_dropped_total", "Batches of counts not passed on inside the PoP because the packet budget was used up."),
		countsDisplaced: counterOf("control_counts_displaced_total", "Counts of keys that are new here, displaced from their table by newer ones."),
	}
}

// all returns the families, for Describe.
func (m *globalMetrics) all() []metric {
	return []metric{
		m.connected, m.lost, m.members, m.pops, m.mismatched,
		m.bytes, m.packets, m.records, m.rejected, m.dropped, m.lag, m.queue,
		m.joins, m.rejoins, m.joinErrors, m.conflicts, m.health,
		m.keys, m.shed, m.guarded, m.debt, m.overloaded, m.deferred, m.forgotten,
		m.counts, m.countsWaiting, m.countsDropped, m.countsDisplaced,
	}
}

// collect sends every value of v, which is one snapshot of the link.
func (m *globalMetrics) collect(to chan<- prometheus.Metric, v *api.GossipView) {
	m.connected.set(to, flagOf(v.Connected))
	m.lost.set(to, flagOf(v.Lost))
	m.collectMembers(to, &v.GossipStats)
	m.collectTraffic(to, &v.GossipStats)
	m.joins.set(to, float64(v.Joins))
	m.rejoins.set(to, float64(v.Rejoins))
	m.joinErrors.set(to, float64(v.JoinErrors))
	m.conflicts.set(to, float64(v.Conflicts))
	m.health.set(to, float64(v.Health))
	m.collectControl(to, &v.GossipStats)
}

// collectMembers sends the number of members and PoPs, added up over all PoPs.
// All three states are sent even at 0: a member that comes back must not leave a series at its last
// value.
func (m *globalMetrics) collectMembers(to chan<- prometheus.Metric, s *api.GossipStats) {
	var sum api.PoPMembers
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
	m.mismatched.set(to, float64(s.Mismatches.Clock), "clock")
}

// collectTraffic sends the values of packets, records and queues. Their kinds and reasons are fixed
// words.
func (m *globalMetrics) collectTraffic(to chan<- prometheus.Metric, s *api.GossipStats) {
	both := func(family metric, f api.Flow, labels ...string) {
		family.set(to, float64(f.In), append(labels, "in")...)
		family.set(to, float64(f.Out), append(labels, "out")...)
	}
	both(m.bytes, s.Bytes)
	both(m.packets, s.Packets)
	for kind, f := range s.Records {
		both(m.records, f, kind)
	}
	// The maps hold fixed words only: no text of another node becomes a label.
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

// collectControl sends the values of the control loop over all PoPs.
func (m *globalMetrics) collectControl(to chan<- prometheus.Metric, s *api.GossipStats) {
	m.keys.set(to, float64(s.Keys.Measured), "measured")
	m.keys.set(to, float64(s.Keys.Reported), "reported")
	m.keys.set(to, float64(s.Keys.Owned), "owned")
	m.keys.set(to, float64(s.Keys.Hinted), "hinted")
	m.shed.set(to, float64(s.Keys.Shed))
	m.guarded.set(to, float64(s.Keys.Guarded))
	m.debt.set(to, s.MostDebt)
	m.overloaded.set(to, flagOf(s.Overloaded))
	m.deferred.set(to, float64(s.Deferred))
	m.forgotten.set(to, float64(s.Full))
	m.counts.set(to, float64(s.Counts.Records.In), "in")
	m.counts.set(to, float64(s.Counts.Records.Out), "out")
	m.countsWaiting.set(to, float64(s.Counts.Waiting))
	m.countsDropped.set(to, float64(s.Counts.Dropped))
	m.countsDisplaced.set(to, float64(s.Counts.Displaced))
}
