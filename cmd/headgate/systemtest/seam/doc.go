// Package seam holds headgate to one law, from a visitor's bytes to the request that is judged: if
// a request is denied in its plain form, every other spelling that a proxy serves as the same thing
// is denied too.
//
//	Rows, Fuzz ──spelling──► Visitor ──bytes──► a column: a proxy with the files of init ──► Site
//	                                                   │                                      │
//	                                                   └── headgate serve, Policies           └── Served ──► faults
//
// One table has a row a spelling and a column a door. The oracle is the site: what it was asked to
// serve decides which policies must have held. A row ends as served and denied in plain (a fault),
// as served and allowed in plain, or as not served. The package rests on the standard library, so
// that the modules of the repository can share its table.
package seam
