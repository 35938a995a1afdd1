// Package wire is the codec of the line protocol: one line asks whether a request may pass, one
// line answers. The daemon and its clients share it. Go programs use the client in edge/client.
//
//	client ──AppendQuery──► datagram ──ParseQuery──► the daemon
//	                                                 decides
//	client ◄─ParseAnswer── datagram ◄─AppendAnswer──────┘
//
//	check per-ip 203.0.113.7 id=7   ──►   id=7 deny why=limit retry=3 view=node
//
// A datagram holds up to [MaxLines] such lines, in at most [MaxDatagram] bytes,
// separated by line feeds; its reply holds as many, in the same order.
package wire
