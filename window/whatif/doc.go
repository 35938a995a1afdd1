// Package whatif computes the refusals of a rule under other limits, for all limits at once.
//
//	an access log ──► Exact: one admitQueue a key ──────► Row: refusals, to the request
//	a running node ─► Sample: demand by slices of the ──► Estimate: bounds of the refusals
//	                  window, of a sample of its keys
//	                  or looks at their buckets
//	               ─► Held: looks at places ─────────────► HeldRow: the part held above a limit
//
// Both rest on one observation. A limit of L over a trailing window is a house of L seats. Each
// unit takes a seat for one window, and a unit that finds none free is refused. Now give the house
// as many seats as needed and let every unit take the lowest free one. The L lowest seats are then
// taken and left just as if there were no others, and the units that sit above L are those that the
// limit L refuses. So one pass serves every limit, and a lower limit refuses all that a higher one
// does.
//
// That holds for units admitted one by one. A request of cost c is c units here, but a limiter
// refuses it whole. Each time that a limit is reached it is misjudged by less than one request's
// cost.
//
// The package reads no clock and draws no random numbers. Nothing in it is safe for concurrent use.
package whatif
