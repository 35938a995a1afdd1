// Package head reads the heads of HTTP/1.x requests on arrival, in 8 KiB of memory.
//
//	bytes of a socket ──Room, Arrived──► Head ──Advance──► complete, or the problem with it
//	                                      │
//	         request line, Host, framing, kept headers ◄──┘
//
// The package does no I/O, allocates nothing and holds no clock: whoever owns the connection lends
// the buffer, waits and answers.
package head
