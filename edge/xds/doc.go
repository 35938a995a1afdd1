// Package xds is a client of a management server of Envoy's discovery protocol (ADS, state of the
// world): it follows all resources of a type on a stream, and tells the server of each response
// whether it was taken.
//
//	server ─► stream: a message at a time ─► Options.Apply ─► ACK, or NACK in words
//	   ▲                                                          │
//	   └── connect again: 1 s, doubled up to 30 s ◄── ended ◄─────┘
//
// Bytes of resources are handed on as they are. The HTTP/2 is net/http's.
package xds
