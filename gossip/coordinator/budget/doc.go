// Package budget bounds the bytes a node sends for the control loop, and measures the shortfall.
// Arithmetic: nothing is sent, no clock is read.
//
//	Refill ─► a bucket per kind of record ─► May, Left, Spend
//	               └─ overflow ─► shared ─┘     └─ denied ─► load
//
// A budget is a set of token buckets for sent bytes, a bucket for each kind of record, because
// answers come at any time: without separate buckets answers would leave nothing for reports. A
// bucket takes a share of the rate and holds a second's bytes; the overflow of full buckets goes
// into a shared bucket, which every kind but hints may use.
//
//	kind    Ask   Report  View  Advice  Hint  Counts
//	share   3/28  6/28    6/28  3/28    3/28  1/4
//
// Records passed on inside the PoP may come on top, up to four times the rate. It goes before
// records dispensable: with idle bytes a node sends no more than three quarters of the rate in all.
//
// The load is a factor of 1..8 for the steps from which changes are sent. Denied bytes raise the
// load in each tick, and time without denials lowers the load:
//
//	load' = load·1.2 per tick while denied > 0.1 of the rate, at most 8
//	load' = load·e^(-elapsed/decay) while nothing is denied, at least 1; decay = 5 s, or 25 s
//
// At 8 the node is overloaded: the node sends rates in place of counts until the load is 2. If the
// next overload begins within 15 s of the end of this overload, the decay is the longer.
//
// Given up: an exact bound on an instant. A debt of a second's bytes is allowed, so a begun record
// is sent whole.
package budget
