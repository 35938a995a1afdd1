// Package wire is the codec of the line protocol: a line asks whether a request may pass, a line
// answers. Shared by the daemon and its clients. Go programs use the client in edge/client.
//
//	client ──AppendQuery──► datagram ──ParseQuery──► the daemon
//	                                                 decides
//	client ◄─ParseAnswer── datagram ◄─AppendAnswer──────┘
//
//	check per-ip 203.0.113.7 id=7   ──►   id=7 deny why=limit retry=3 view=node
//
// A datagram holds up to [MaxLines] such lines, in at most [MaxDatagram] bytes, separated by line
// feeds; the reply holds as many, in the same order.
package wire
