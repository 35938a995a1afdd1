// Package budget bounds the bytes a node sends for the control loop, and measures how far they fall
// short. It is arithmetic: it sends nothing and reads no clock.
//
//	Refill ─► a bucket per kind of record ─► May, Left, Spend
//	               └─ overflow ─► shared ─┘     └─ denied ─► load
//
// A budget is a set of token buckets for sent bytes, one for each kind of record, because answers
// come as they come: without buckets of their own they would leave nothing for reports. A bucket
// takes its share of the rate and holds one second of it; the overflow of full buckets goes into a
// shared one, which every kind but hints may use.
//
//	kind    Ask   Report  View  Advice  Hint  Counts
//	share   3/28  6/28    6/28  3/28    3/28  1/4
//
// Records passed on inside the PoP may come on top, up to four times the rate. It goes before
// records that can be left out: with that a node sends no more than three quarters of the rate in
// all.
//
// The load is a factor of 1..8 for the steps from which changes are sent. Denied bytes raise it in
// each tick, and time without denials lowers it:
//
//	load' = load·1.2 per tick while denied > 0.1 of the rate, at most 8
//	load' = load·e^(-elapsed/decay) while nothing is denied, at least 1; decay = 5 s, or 25 s
//
// At 8 the node is overloaded: it sends rates in place of counts until the load is 2. If the next
// overload begins within 15 s of the end of this one, the decay is the longer one.
//
// Given up: an exact bound on an instant. A debt of one second's bytes is allowed, so a record that
// has been started is sent whole.
package budget
