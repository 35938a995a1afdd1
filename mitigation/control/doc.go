// Package control is the arithmetic of the control loop: demand goes up, a drop ratio comes down.
// Pure: time is an argument; the package opens nothing, sends nothing and draws no chance.
//
//	Sample ─► Report ─► Aggregate.Merge ─► Aggregate.Step ─► GlobalView ─► Ratio ─► Advice
//	node      origin    owner, standby     every batch       origin       node      gate
//
// Reports are state and carry their own TTL, so their order and their repetition do not matter. The
// drop ratio comes from the offered rate, refused requests included:
//
//	ratio = max(0, 1 - Limit/Sum)
//
// Drops do not change the offered rate, so the loop is open and cannot oscillate at any delay. The
// admitted rate enters only the cost of the trailing window, which lowers Limit while above the
// rule's.
//
// Rate mode judges a key by rates: windows up to 5 s with a limit of 1,600 and more. Count mode
// judges all other keys by the window's counts, and uses the ratio only until the counts have
// arrived.
//
// Given up: the excess of the first loop delay, about (demand/limit - 1) · delay seconds of the
// limit. Such cost is admitted first, and made up for within the window.
package control
