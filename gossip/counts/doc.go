// Package counts holds the records PoPs exchange about keys judged by counts: how much of a key
// each PoP admitted in the running counting period and in the one before, in 12 bytes.
//
//	admissions ─► Step: enough to matter? ─► Queue ─► AppendRecord ─► a packet to each PoP
//	                                                                                   │
//	slot ◄── Growth ◄── State.Raise ◄── a key with a slot ──┬── ParseHead, Records ◄───┘
//	  ▲                 Table.Put ◄── a key without one ────┘
//	  └── Table.Each: a key that is new here begins with the admissions of others
//
// Counts are cumulative within their period: a lost packet is made good by the next one about the
// same key, and a packet arriving twice, or late, adds nothing. So they need no answer. A PoP is an
// origin: its ring adds up, and whichever of its nodes changed a total sends it. A node counting
// alone is an origin of its own.
//
// No admission is taken for later than it can have been: see Growth. So no client is denied for
// longer than its own requests are in the window.
//
// Counts do not replace the reports, sums and views of package coordinator, so the control loop has
// two ways, and is larger by more than half than with a single way. A record of counts is cheap
// because it lacks a rate, a block and a sum: without them nobody could drop by ratio the excess
// over a large limit between two exchanges, divide a limit among PoPs, block in all PoPs at once,
// or show people the demand of all. Reports for ten thousand keys, on the other hand, take six
// nodes 23 s a round. So each key goes a single way, by its rule: see mitigation.Rule.ByCounts.
//
// The package is arithmetic. It opens nothing and reads no clock.
//
// Given up: counts are sent rounded down to a 100th of the limit, and as many of them as the budget
// of bytes allows; see Pressure. The table of keys without a slot loses its oldest entries when it
// is full. A member holding the cluster's key can misstate the admissions of its PoP, up to
// Believed.
package counts
