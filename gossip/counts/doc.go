// Package counts is what PoPs tell each other about keys that are judged by counts: how much of a
// key each PoP admitted in the running counting period and in the one before, in 12 bytes.
//
//	admissions ─► Step: enough to matter? ─► Queue ─► AppendHead, AppendRecord ─► one packet to each PoP
//	                                                                                   │
//	slot ◄── Growth ◄── State.Raise ◄── a key with a slot ──┬── ParseHead, Records ◄───┘
//	  ▲                 Table.Put ◄── a key without one ────┘
//	  └── Table.Each: a key that is new here begins with the admissions of others
//
// Counts are cumulative within their period: a packet that is lost is made good by the next one
// about the same key, and one that arrives twice, or late, adds nothing. So they need no answer. A
// PoP is one origin: its ring adds up, and whichever of its nodes changed a total sends it. A node
// that counts alone is an origin of its own.
//
// No admission is taken for later than it can have been: see Growth. So no client is denied for
// longer than its own requests are in the window.
//
// The package is arithmetic. It opens nothing and reads no clock.
//
// What it gives up: counts are sent rounded down to a 100th of the limit, and as many of them as the
// budget of bytes allows; see Pressure. The table of keys without a slot loses its oldest entries
// when it is full. A member that holds the cluster's key can misstate what its PoP admitted, up to
// Believed.
package counts
