// Package client asks a headgate daemon whether a request may pass. It imports the standard library,
// edge/wire and edge/client/packet only.
//
//	your program ─► Check ─► Client ──query lines──► datagram ──► the daemon
//	                           │                                   decides
//	your program ◄─ Answer ◄─ Client ◄──reply lines── datagram ◄─────┘
//
// # Use
//
//	c, err := client.Dial("udp", "127.0.0.1:4290")
//	if err != nil { … }                      // a wrong address; the daemon need not be up yet
//	defer c.Close()
//
//	if !c.Allow(ctx, "login", userName) { … } // yes or no
//
//	answer, err := c.Check(ctx, client.Query{Rule: "login", Key: userName, Cost: 2})
//
// [Handler] is the same as middleware for net/http; [Client.Ask] sends many queries in few
// datagrams.
//
// # Without an answer
//
// Datagrams get lost, and the client does not send them again: a second query might be counted
// twice, and by then the request has waited long enough. A query that is not answered within the
// timeout, 20 ms by default, is decided by the client's [FailMode]: FailOpen allows, FailClosed
// denies. Its Answer has an Err, and [Stats] counts it.
package client
