// Package gate decides: may a request with this key pass under this rule? A Gate counts requests,
// holds the rules in force, the flags of keys and the overrides of operators, and answers from this
// process's memory.
//
//	Ask ─► rule ─► index ─► slot or sketch ─► flag ─► verdict ─► Decision
//
//	rule     by the name in Ask, from one immutable set that is loaded once a request
//	index    keyed hash of the key's bytes, computed once; differs from process to process
//	slot     exact count of a key that came near its limit; every other key is in the sketch. The
//	         cost is counted as offered before anything is judged, refused requests included
//	flag     lock-free lookup: allow or block by an operator, block, or share of requests to drop
//	verdict  by the flag, else by the exact count; cost that fits is admitted in the same step.
//	         The rule's mode then has a refusal enforced or merely recorded (shadow)
//
// Nodes of a point of presence (PoP) share counts. The flusher drives the exchange, from a single
// goroutine, and no decision waits:
//
//	Collect ─► []window.Due ─► (ring) ─► totals ─► Plausible ─► Merge ─► slot
//	                             │                                └────► flag with a drop ratio
//	                             └─ no answer ─► Unsent
//
// Rules of scope global take another step. Report hands samples of keys to the coordinator, and
// Apply puts the advice into the slot and the flag table. Overrides travel on their own: Publish
// sends an override, and MergeOverride takes the override in at every other node.
//
// # Limits of the design
//
// A sketch only raises suspicion; refusals rest on exact counts. A key without a free slot is
// therefore admitted, and counted in Stats. Nodes learn of each other's admissions a flush late, so
// a key may exceed a shared limit for about a flush. Flags, slots, overrides and names of unknown
// rules each have a fixed bound; a full table drops the least valuable entry and counts the loss. A
// restart forgets everything no Snapshot carries over.
//
// The package opens no socket and no file, logs nothing and starts no goroutine. Time and chance
// are arguments of each decision; only Now, Run, RunAlone and the methods to change rules or
// exchange overrides read the clock.
//
// Methods of Gate, Lane and RingHealth may be called concurrently unless their comments say
// otherwise. The exceptions are the exchange (Collect to Report), FlagChanges and Restore.
package gate
