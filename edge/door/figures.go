package door

// LatencyEvery is the sampling interval in batches: doors time a batch in LatencyEvery. The second
// clock reading costs about half a decision, so timing every batch would show.
const LatencyEvery = 16

// Figures are the counts every door of connections has: totals since it was made, unless they say
// "now".
type Figures struct {
	Open int // connections now
	// requests and reports that were read whole, with those that were answered with an error
	Requests   uint64
	BadRequest uint64 // of them, not of the grammar, or with a field that is not known
	Unknown    uint64 // of them, that named no rule in force
	TooLong    uint64 // of them, above a bound
	Broken     uint64 // connections ended for a fault of their protocol
	Rejected   uint64 // connections ended at once, because too many were open
	Displaced  uint64 // connections ended for the place of another one
	Orphans    uint64 // tickets and leases ended because nobody has read their answers
	// of CL.THROTTLE: keys and sets of numbers that gave way to others where all places were taken
	Keys, Numbers uint64
}
