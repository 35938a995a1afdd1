// Package override is the replicated set of operators' instructions: block, allow or lift a key of
// a rule, on every node. How overrides travel is the caller's concern: the set only merges records.
//
//	admin API ─► Set.Issue ─┐                          ┌─► flag table: while InForce
//	gossip    ─► Set.Merge ─┼─► last override of a key ┼─► Append, AppendAll ─► gossip
//	state file ► MergeAll ──┘                          └─► AppendAll ─► state file
//
// The last override of a key wins, by Issued and then by fixed tie-breaks, so nodes with the same
// records agree without messages. A lift is an override too, and is kept until no older can return
// from a slow node or an old state file.
//
// Given up: two operators who contradict each other within the skew of two clocks may see the
// earlier win. Beyond MaxHeld keys, the overrides first to end are forgotten and counted.
package override
