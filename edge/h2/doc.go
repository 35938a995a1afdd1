// Package h2 is the server's side of one HTTP/2 connection (RFC 9113) for unary gRPC calls: bytes
// in, bytes out. It has no socket, no clock and no goroutine; edge/door/grpc reads, writes and
// keeps the time.
//
//	socket ─► Room, Arrived ─► Advance: frames ─► HPACK ─► message ─► Handler.Call
//	   ▲                                                                   │
//	   └───────────── Output, Written ◄── HEADERS, DATA, trailers ◄────────┘
//
// Frames are parsed where they lie in the connection's buffer. All requests of one read are
// answered by one write. A header block that equals the last one, and changes no table, is not
// decoded again. A response's headers and trailers are one or two bytes from the dynamic table.
//
// A call is answered when its request has ended, so a stream is forgotten with its answer unless
// the peer's window is too small for it. Whatever a peer can make a connection keep has a bound in
// bounds.go and a counter by Reason; who goes over it loses the stream or the connection.
// Bidirectional streams, server push and priorities are not offered.
package h2
