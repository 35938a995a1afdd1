package metrics

import (
	"github.com/headgate-dev/headgate/edge/api"
)

// globalFamilies are the families of counting together with other PoPs. Members are no labels:
// this node cannot bound their number. PoPs are those of collectClocks. direction is in or out;
// state is alive, dead or left; what names the setting that differs: ring, rules, wire or clock;
// queue is spread, receive or send; role is measured, reported or owned. Kinds and reasons are the
// fixed words of packages gossip and coordinator.
var globalFamilies = []family{
	{
		"gossip_connected", "",
		"1 if this node receives trusted gossip records from other nodes, or if there are no " +
			"other nodes; else 0.",
	},
	{
		"gossip_lost", "",
		"1 if no gossip record from another node has arrived for so long that failure_mode of " +
			"global rules applies, else 0.",
	},
	{"gossip_members", "state", "Nodes known to gossip by state, this one included."},
	{"gossip_pops", "", "PoPs with at least one living node, this one included."},
	{
		"gossip_mismatched_members", "what",
		"Living nodes that differ from this one where all should agree: ring servers, global " +
			"rules, wire version or clock.",
	},
	{
		"gossip_clock_offset_seconds", "pop",
		"Seconds that the clock of the PoP's living node that is furthest off is ahead of this " +
			"node's; negative if behind. Of 255 PoPs at most.",
	},
	{
		"gossip_bytes_total", "direction",
		"Bytes of gossip on the network, including framing and encryption.",
	},
	{"gossip_packets_total", "direction", "Gossip datagrams and streams, by direction."},
	{"gossip_records_total", "kind direction", "Gossip records by kind and direction."},
	{
		"gossip_rejected_total", "reason",
		"Gossip records and packets that were read and rejected, by reason.",
	},
	{
		"gossip_dropped_total", "reason",
		"Gossip packets and records dropped because they did not fit or could not " +
			"be read.",
	},
	{
		"gossip_lag_seconds", "",
		"Time that records spent waiting at nodes, without the network's own delay, before " +
			"this node first received them.",
	},
	{
		"gossip_queue_length", "queue",
		"Length of the gossip queues: records to spread, messages to receive, packets to send.",
	},
	{
		"gossip_joins_total", "",
		"Successful gossip joins, with seeds or with members that had been dead.",
	},
	{"gossip_rejoins_total", "", "Successful gossip joins with members that had been dead."},
	{"gossip_join_errors_total", "", "Failed attempts to join other gossip members."},
	{
		"gossip_name_conflicts_total", "",
		"Times gossip saw another node with a name already in use.",
	},
	{
		"gossip_health_score", "",
		"0 if the node answers gossip probes in time; higher if it is slow.",
	},
	{
		"control_keys", "role",
		"Keys of global rules by the role of this node: measured, reported or owned.",
	},
	{"control_shed_keys", "", "Keys owned by this node that are above their limit."},
	{
		"control_guarded_keys", "",
		"Keys owned by this node that still use the last reports of PoPs because many PoPs " +
			"fell silent at once.",
	},
	{
		"control_debt_seconds", "",
		"Largest excess admission that a key owned by this node still has to repay, in seconds " +
			"of its limit.",
	},
	{
		"control_overloaded", "",
		"1 if so many keys of global rules are over their limits that rates are sent instead " +
			"of counts, else 0.",
	},
	{
		"control_deferred_total", "",
		"Reports and answers for global rules postponed because the packet budget was used up.",
	},
	{
		"control_origins", "",
		"PoPs and nodes that count alone, of which counts of small limits are kept; at most 255.",
	},
	{
		"control_full_total", "",
		"Times a key of a global rule, or an origin, found no room in the control loop. Its PoP " +
			"counts the key alone.",
	},
	{"control_bytes", "", "Memory of all keys of global rules in the control loop."},
	{"control_capacity_bytes", "", "Most memory of the control loop, a part of the memory."},
	{
		"control_counts_total", "direction",
		"Counts of keys of small global limits that went from PoP to PoP, by direction.",
	},
	{
		"control_counts_waiting_keys", "",
		"Keys of small global limits with counts that wait for the packet budget.",
	},
	{
		"control_counts_dropped_total", "",
		"Batches of counts not passed on inside the PoP because the packet budget was used up.",
	},
	{
		"control_counts_displaced_total", "",
		"Counts of keys that are new here, displaced from their table by newer ones.",
	},
}

// collectGlobal sends every value of v, which is a snapshot of the link.
func collectGlobal(to scrape, v *api.GossipView) {
	put(to, "gossip_connected", flagOf(v.Connected))
	put(to, "gossip_lost", flagOf(v.Lost))
	collectMembers(to, &v.GossipStats)
	collectClocks(to, v.Members)
	collectTraffic(to, &v.GossipStats)
	put(to, "gossip_joins_total", v.Joins)
	put(to, "gossip_rejoins_total", v.Rejoins)
	put(to, "gossip_join_errors_total", v.JoinErrors)
	put(to, "gossip_name_conflicts_total", v.Conflicts)
	put(to, "gossip_health_score", v.Health)
	collectControl(to, &v.GossipStats)
}

// collectMembers sends the number of members and PoPs, added up over all PoPs. All three states are
// sent even at 0: a member coming back must not leave a series at its last value.
func collectMembers(to scrape, s *api.GossipStats) {
	var sum api.PoPMembers
	pops := 0
	for _, p := range s.PoPs {
		sum.Alive, sum.Dead, sum.Left = sum.Alive+p.Alive, sum.Dead+p.Dead, sum.Left+p.Left
		if p.Alive > 0 {
			pops++
		}
	}
	put(to, "gossip_members", sum.Alive, "alive")
	put(to, "gossip_members", sum.Dead, "dead")
	put(to, "gossip_members", sum.Left, "left")
	put(to, "gossip_pops", pops)
	put(to, "gossip_mismatched_members", s.Mismatches.Ring, "ring")
	put(to, "gossip_mismatched_members", s.Mismatches.Rules, "rules")
	put(to, "gossip_mismatched_members", s.Mismatches.Wire, "wire")
	put(to, "gossip_mismatched_members", s.Mismatches.Clock, "clock")
}

// collectClocks sends the clock of each PoP that is furthest off. Names of PoPs are the only texts
// of other nodes among the labels: their members hold the key. Counts are exchanged with 255 PoPs
// at most.
func collectClocks(to scrape, members []api.Member) {
	furthest := make(map[string]int64)
	for n := range members {
		m := &members[n]
		was, known := furthest[m.PoP]
		if m.State != "alive" || !known && len(furthest) == 255 {
			continue
		}
		if !known || max(m.Offset, -m.Offset) > max(was, -was) {
			furthest[m.PoP] = m.Offset
		}
	}
	for pop, millis := range furthest {
		put(to, "gossip_clock_offset_seconds", float64(millis)/1000, api.EscapeKey([]byte(pop)))
	}
}

// collectTraffic sends the values of packets, records and queues. Their kinds and reasons are fixed
// words.
func collectTraffic(to scrape, s *api.GossipStats) {
	both := func(name string, f api.Flow, labels ...string) {
		put(to, name, f.In, append(labels, "in")...)
		put(to, name, f.Out, append(labels, "out")...)
	}
	both("gossip_bytes_total", s.Bytes)
	both("gossip_packets_total", s.Packets)
	for kind, f := range s.Records {
		both("gossip_records_total", f, kind)
	}
	// The maps hold fixed words only.
	for reason, n := range s.Rejected {
		put(to, "gossip_rejected_total", n, reason)
	}
	for reason, n := range s.Dropped {
		put(to, "gossip_dropped_total", n, reason)
	}
	buckets := make(map[float64]uint64, len(s.Lag.Buckets))
	for _, b := range s.Lag.Buckets {
		buckets[b.Within] = b.Count
	}
	to.putHistogram("gossip_lag_seconds", s.Lag.Count, s.Lag.Sum, buckets)
	put(to, "gossip_queue_length", s.Queue.Spreading, "spread")
	put(to, "gossip_queue_length", s.Queue.Waiting, "receive")
	put(to, "gossip_queue_length", s.Queue.Sending, "send")
}

// collectControl sends the values of the control loop over all PoPs.
func collectControl(to scrape, s *api.GossipStats) {
	put(to, "control_keys", s.Keys.Measured, "measured")
	put(to, "control_keys", s.Keys.Reported, "reported")
	put(to, "control_keys", s.Keys.Owned, "owned")
	put(to, "control_shed_keys", s.Keys.Shed)
	put(to, "control_guarded_keys", s.Keys.Guarded)
	put(to, "control_debt_seconds", s.MostDebt)
	put(to, "control_overloaded", flagOf(s.Overloaded))
	put(to, "control_deferred_total", s.Deferred)
	put(to, "control_origins", s.Origins)
	put(to, "control_full_total", s.Full)
	put(to, "control_bytes", s.Keys.Bytes)
	put(to, "control_capacity_bytes", s.Keys.Capacity)
	put(to, "control_counts_total", s.Counts.Records.In, "in")
	put(to, "control_counts_total", s.Counts.Records.Out, "out")
	put(to, "control_counts_waiting_keys", s.Counts.Waiting)
	put(to, "control_counts_dropped_total", s.Counts.Dropped)
	put(to, "control_counts_displaced_total", s.Counts.Displaced)
}
