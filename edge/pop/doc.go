// Package pop makes the nodes of a point of presence (PoP) count together. Every node has a
// Flusher, a goroutine exchanging counts with the ring, a set of memcached servers. No decision
// waits for it: the gate decides from its own memory. While all is well, that knows the counts of
// the other nodes as they were a flush or two ago.
//
// A flush, every Options.Every:
//
//	gate.Collect ─► []window.Due ─┬─► address ─► []ring.Op ─► Tally.Do ─► totals ─► quarantine ─► gate.Merge
//	                              └─► keys that no server can count now ────────────────────────► gate.MergeAlone
//	heartbeat.collect ────────────────► []ring.Op ─► Tally.Do ─► totals ─► heartbeat.merge ─► gate.Ring().SetClock
//
// Between two flushes, Hurry exchanges the keys that cannot wait for the next. A key of a small
// limit is read though this node has nothing to add, when others can have used up the rest: a ring
// tells nobody of a change, and a PoP may have no gossip. Without such reads sixteen nodes admit
// 1.5 times a limit of 2 per 10 s. How much is left, and how fast it is used, says when to read
// next: else each such key would take an exchange in every flush.
//
// Three parts guard against totals that would refuse clients wrongly:
//
//   - The heartbeat keeps the PoP's clock, by which periods are numbered: see clocks. A node whose
//     wall clock is off by more than a minute counts alone.
//   - The quarantine ignores a server answering totals that cannot be true.
//   - The gate's RingHealth, which the Flusher writes, says which servers are silent.
//
// The room gives up exactness: two nodes may admit the same last unit of a limit within a flush.
// Both counts are known two flushes later, and hold the key until they leave the window.
package pop
