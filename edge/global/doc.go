// Package global joins a gate to the other PoPs: it carries the gate's samples to the coordinator,
// the coordinator's packets over gossip, and the advice back.
//
//	gate ──Report──► Link ─► coordinator.Measure ─► gossip.Send, Spread ─► (the network)
//	gate ◄──Apply─── Link ◄─ coordinator ◄─ Receive ◄─ gossip ◄─ (the network)
//	gate ──Publish─► Link ─► gossip.Spread ─► the other nodes' Link ──MergeOverride──► their gates
//
// A member that joins is handed a state: this node's clock, and its overrides,
// each a part with a tag before it, so parts of kinds added later are skipped and counted.
//
// The coordinator is arithmetic under a single lock; gossip carries bytes it does not read. The
// package joins the two and decides nothing itself: it keeps no counts, and a node whose link is
// lost goes on by its own.
package global
