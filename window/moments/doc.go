// Package moments says when the admissions in a count came, at the earliest: in lists short enough
// to be sent beside the count, and additive over nodes and PoPs.
//
//	bins    ─┬──┬──┬──┬──┬──┬──┬──┬──┬──►   512 to a counting period, numbered alike everywhere
//	list     5           2     9            5, 2 and 9 admissions, each in its bin or later
//	After    16 11       11 9  9            at least so many came in that bin or later
//
// A list is a lower bound. Of the admissions in a count at least After(b) came in bin b or later;
// those that no lump has may have come at any time of their period. So nobody whose admissions are
// placed as a list says is denied for longer than they are in the window. A list may lose lumps,
// and lumps may move to earlier bins: it says less then, and nothing wrong.
//
// A node knows when its own admissions came. The sum of such lists is a list of all of them,
// however late some of them are. Where two lists are about the same admissions, both hold, and so
// does the Greater. A view that two witnesses have to agree on has the Lesser.
//
// A list goes back to the beginning of the period before the running period. Older lumps have
// coarser bins: each is a power of two of bins wide, at most an eighth of the age. A coarse list
// says at its bins exactly what the fine list does. Split compares in fine bins: who places
// admissions remembers what lists said when these were young.
package moments
