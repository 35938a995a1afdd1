// Package h2 is the server's side of an HTTP/2 connection (RFC 9113) for unary gRPC calls: bytes
// in, bytes out. No socket, no clock and no goroutine; edge/door/grpc reads, writes and keeps the
// time.
//
//	socket ─► Room, Arrived ─► Advance: frames ─► HPACK ─► message ─► Handler.Call
//	   ▲                                                                   │
//	   └───────────── Output, Written ◄── HEADERS, DATA, trailers ◄────────┘
//
// Frames are parsed inside the connection's buffer. All requests of a single read are answered by a
// single write. A header block equal to the last is not decoded again, unless a table changes. A
// response's headers and trailers are a byte or two from the dynamic table.
//
// A call is answered at the request's end, so a stream is forgotten with the answer unless the
// peer's window is too small. Whatever a peer can make a connection keep has a bound in bounds.go
// and a counter by Reason; who goes over loses the stream or the connection. Bidirectional streams,
// server push and priorities are not offered.
package h2
