// Package order holds the coordinator's keys in an order a simulation can repeat. Go's own maps
// iterate at random, so two runs with the same seed would send different bytes.
//
//	Map         items by key, visited from a random start: few items, all of them at once
//	RoundRobin  items in ten parts, one part per round: many items, a tenth of them at a time,
//	            and a part of those that wait
//
// The start of a visit is random because the first items may use up the budget of bytes. The dice
// are an argument, seeded by the caller.
//
// Neither type is safe for concurrent use.
package order
