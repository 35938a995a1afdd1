// Package gossip carries bytes between the nodes of a cluster: it knows the members, sends a packet
// to a member, and spreads a record to all of them. The bytes are its callers' business: the
// control loop's packets, and the operators' overrides. The membership is
// hashicorp/memberlist's.
//
//	Send(to, packet) ─► bounded queue ─► sender ────────────────┐ one encrypted datagram
//	Spread(name, record) ─► broadcast queue, newest per name ───┤ packed, a few nodes every interval
//	State() ─► push/pull, every few seconds with one member ────┤ a stream
//	                          ▲                                 ▼
//	                          │ news, by                memberlist ◄─► guard ◄─► UDP and TCP
//	                          │ ReceiveRecord                   │        drops traffic that is foreign,
//	                          │                                 │        oversized, too much or packed
//	                          │                                 ▼
//	Receive, ReceiveRecord, Merge, Changed ◄── one goroutine ◄── bounded inbox, roster
//	          Join(seeds, remembered dead) every 10-15 s ─► memberlist
//
// In use (see the example for a complete program):
//
//	n, err := gossip.Open(gossip.Config{
//		Name: "edge-1", Bind: "10.0.0.1:7946", Join: seeds, Key: key,
//		Receive: onPacket, ReceiveRecord: onRecord, Changed: onMembers,
//	})
//	if err != nil {
//		return err
//	}
//	go func() { n.Send("edge-2", packet); n.Spread("login/203.0.113.7", record) }()
//	return n.Run(ctx)
//
// Package guard checks and bounds the traffic that reaches memberlist.
//
// Everything is encrypted and authenticated with the cluster's key, bounded and counted. A slow
// callback costs its own node packets, never the cluster's view of it. Two halves of a cluster cut
// apart find each other again. A peer cannot fill the log.
//
// Given up: delivery. A packet may be lost, doubled, late, or a replay of an old packet by an
// attacker on the network, so its reader needs sequence numbers. A record reaches all nodes soon if
// nothing is lost, and otherwise when State brings it. A member holding the key can write anything.
//
// Send, Spread, Members, SetMeta, Rotate and Stats may be called from any goroutine at any time and
// never wait for the network.
package gossip
