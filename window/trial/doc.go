// Package trial answers what a rule would have done under other limits, for all limits at once.
//
//	an access log ──► Exact: every key's seats ─────────► Row: what a limit refuses, to the request
//	a running node ─► Sample: demand by slices of the ──► Row: between which bounds it lies
//	                  window, of a sample of its keys
//
// Both rest on one observation. A limit of L over a trailing window is a house of L seats, each taken for a window; who
// finds none free is refused. Let every unit take the lowest free seat of a house without end, and the L lowest seats
// are taken and left just as if there were no others: whatever sits above L is what the limit L refuses. So one pass
// serves every limit, and what one limit refuses all lower ones do too.
//
// That holds for units that are admitted one by one. A request of cost c is c units here; a limiter refuses it whole,
// so that a limit is judged wrong by less than one request's cost each time that it is met.
//
// The package reads no clock and draws no chance. Nothing in it is safe for concurrent use.
package trial
