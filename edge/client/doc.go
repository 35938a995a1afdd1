// Package client asks a headgate daemon whether a request may pass. Imports are the standard
// library, edge/wire and edge/request only.
//
//	your program ─► Check ─► Client ──query lines──► datagram ──► the daemon
//	                           │                                   decides
//	your program ◄─ Answer ◄─ Client ◄──reply lines── datagram ◄─────┘
//
// # Use
//
//	c, err := client.Dial("127.0.0.1:4290")
//	if err != nil { … }                      // a wrong address; the daemon need not be up yet
//	defer c.Close()
//
//	ok, err := c.Allow(ctx, "login", userName)  // yes or no
//
//	answer, err := c.Check(ctx, "login", userName, 2)
//
//	// a whole request: the daemon's policies decide
//	answer, err := c.Ask(ctx, client.RequestOf(r))
//
// [Client.Handler] is the same as middleware for net/http; [Client.Batch] sends many queries in few
// datagrams.
//
// # Without an answer
//
// Datagrams get lost, and the client does not send them again: a second query might be counted
// twice, and by then the request has waited long enough. A query that is not answered within the
// timeout, 20 ms by default, is decided by the client's [FailMode]: FailOpen allows, FailClosed
// denies. The Answer has an Err, counted in [Stats].
package client
