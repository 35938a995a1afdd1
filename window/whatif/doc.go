// Package whatif computes the refusals of a rule under other limits, for all limits at once.
//
//	an access log ──► Exact: one admitQueue a key ──────► Row: refusals, to the request
//	a running node ─► Sample: demand by slices of the ──► Estimate: bounds of the refusals
//	                  window, of a sample of its keys
//	                  or looks at their buckets
//	               ─► Held: looks at places ─────────────► HeldRow: the part held above a limit
//
// Both rest on an observation. A limit of L over a trailing window is a house of L seats. Each unit
// takes a seat for a window, and a unit without a free seat is refused. Now give the house as many
// seats as needed and let every unit take the lowest free seat. The L lowest seats are then taken
// and left just as if there were no others, and the units above L are the refusals of limit L. So a
// single pass serves every limit, and a lower limit refuses all refusals of a higher.
//
// The house is exact for units admitted singly. A request of cost c is c units here, but a limiter
// refuses a request whole. Each time a limit is reached the error is less than a request's cost.
//
// The package reads no clock and draws no random numbers. Nothing is safe for concurrent use.
package whatif
