// Package board carries, from node to node of a PoP, which keys are at their limits. Nodes that
// have not met such a key put it into their usedup.Table.
//
//	gate.CollectFilled ─► Board.Add ─► memcached ─► the other nodes' Boards ─► usedup.Table
//
// A board is made of counters, like all that a ring holds: no operation but the addition is needed,
// and proxies need not know of it. Each server has a number, the count of notices so far, and two
// counters a notice:
//
//	number      +n by a node with n notices: its sum says which numbers they have
//	digest k    64 bits of the key's digest
//	facts k     32 further bits of it, and for how many milliseconds the key is at its limit
//
// Nodes read the number at every exchange, and the counters of new notices right after it. A reader
// takes a notice to have been written when it read the number before: clocks do not matter then,
// and no key is held longer than the counts that filled it are in the window.
//
// Given up: notices of less than two flushes are not written; a node writes MostWritten of them and
// reads MostRead of a server in an exchange, and the rest is dropped and counted.
package board
