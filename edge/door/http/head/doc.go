// Package head reads the heads of HTTP/1.x requests as they arrive, in 8 KiB of memory.
//
//	bytes of a socket ──Room, Arrived──► Head ──Advance──► complete, or the problem with it
//	                                      │
//	         request line, Host, framing, kept headers ◄──┘
//
// It does no I/O, allocates nothing and holds no clock: whoever owns the connection lends the
// buffer, waits and answers.
package head
