// Package request holds an HTTP request as a door received it, and derives from it the fields
// policies look at: the normalised path, the host, the client's address, parameters and cookies.
//
//	door ─Reset, AddHeader, SetTarget, SetHost─► Request ──FindClient──► client ──► edge/policy
//	          │                                    │
//	          └── slices of the door's buffer      └── parameters and cookies, parsed at need
//
// A Request borrows the bytes it is given, and keeps its own memory between requests: once its
// buffers have grown, filling it allocates nothing. A single goroutine at a time uses a Request.
//
// Of the headers only those are kept whose names are in the Names given to Reset: a proxy forwards
// up to 64 KiB of headers, and policies name few of them.
package request
