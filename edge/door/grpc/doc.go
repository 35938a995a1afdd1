// Package grpc is the decision listener for proxies asking over gRPC, as Envoy does: the rate limit
// service (RLS), external authorization (ext_authz), and health. The door runs on edge/h2 over TCP,
// TLS and unix sockets, and reads and writes the few protobuf messages by hand.
//
//	connection ─► h2.Conn ─► caller.Call ─► parse ─► a question, or a request's fields, per descriptor
//	                             │                                  │
//	                             └── statuses, headers ◄── ask.Session.DecideAll: one step for all
//
// A goroutine serves a connection. All calls of a read are decided at a single reading of the clock
// and answered by a single write. A call with a fault is answered with a grpc-status, and nothing
// is counted.
package grpc
