// Package usedup holds the keys other nodes of the PoP have seen at their limits, so the first
// request of such a key at this node is denied too. Without a Table each of N nodes admits a
// request.
//
//	notices of other nodes (package board) ─► Table.Put ─► Table.UsedUp
//	  ─► a key's first request in a window
//
// An entry is a hint with an exact count behind it, that of the node which sent the notice. It
// holds a key only until this node has the totals of the others, a flush later.
//
// Given up: of eight keys that may take a place, a full Table forgets a key.
package usedup
