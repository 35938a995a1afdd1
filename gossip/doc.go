// Package gossip carries bytes between the nodes of a cluster: it knows who is there, sends one of them a packet, and
// spreads a record to all of them. What the bytes mean is its caller's business; the control loop and the operators'
// words go over it and neither is known here. The membership itself is hashicorp/memberlist's.
//
//	Send(to, packet) ─► bounded queue ─► sender ────────────────┐ one encrypted datagram
//	Spread(name, record) ─► broadcast queue, newest per name ───┤ packed, a few nodes every interval
//	State() ─► push/pull, every few seconds with one member ────┤ a stream
//	                          ▲                                 ▼
//	                          │ what Hear               memberlist ◄─► guard ◄─► UDP and TCP, one port
//	                          │ calls news                      │        drops what is foreign, oversized, too much
//	                          │                                 ▼
//	Receive, Hear, Merge, Changed ◄── one goroutine ◄── bounded inbox, roster
//	          Join(seeds, remembered dead) every 10-15 s, for ever ─► memberlist
//
// What it gives: everything is encrypted and authenticated with the cluster's key, bounded and counted; a callback that
// is slow costs its own node packets (counted), never the cluster's view of it; two halves of a cluster that were cut
// apart find each other again by themselves; what a peer sends cannot fill the log.
//
// What it does not give: delivery. A packet may be lost, doubled, late, or a recording of an old one sent again by
// somebody on the network, so whoever reads it needs its own sequence numbers. A record reaches all nodes soon when
// nothing is lost, and otherwise when State brings it. Whoever holds the key can say anything.
//
// Send, Spread, Members, SetMeta, Rotate and Stats may be called from any goroutine at any time and never wait for the
// network.
package gossip
