// Package metrics shows the counts of a node to Prometheus.
//
//	gate, doors, ring, state, gossip ──Stats()──► collector ──► Registry ◄── GET /metrics
//	streams of /v1/events ──────────────Live────► RegisterLive ──┘
//
// Nothing is counted here: every scrape reads the counts the rooms keep anyway, and takes no lock a
// decision waits for. A room that is missing, such as the ring of a node without a ring, has no
// series.
//
// # Bounds
//
// Labels are names of rules (at most 1,000), window lengths (at most 8), addresses of the ring's
// servers, names of PoPs (at most 255) and fixed words. A client's key is never a label. The series
// of this module are:
//
//	a rule                   14
//	a window length           6
//	the node                 49, and 5 more where the state is kept on disk
//	a server of the ring     13, and 9 more for the ring as a whole
//	gossip                   93, however many nodes there are, and 1 more for each of 255 PoPs
//	the admin listener        6, and 1 more where the log counts the lines it drops
//
// So a node with 10 rules of 2 window lengths, a state file, 3 servers of a ring and gossip with 3
// PoPs has
//
//	14·10 + 6·2 + 49 + 5 + 13·3 + 9 + 93 + 3 + 6 = 356 series
//
// Register and RegisterLive panic when a registry holds metrics of a node already: that is a
// programmer's error. Everything else may be called concurrently.
package metrics
