// Package edge is a whole node: a Node reads the configuration, wires the rooms together, and runs
// all.
//
//	headgate.yaml, key file, token file ─► prepare ─► New ─► Node ─► Run
//	                                          └────► Reload ─► commit
//
//	datagrams ─► door/udp ─┐                 ┌─► pop ─► ring (memcached) ◄─ the PoP's other nodes
//	HTTP ──────► door/http ┴─► gate ◄────────┼─► global ─► gossip ◄─ the other PoPs
//	people ────► admin ────────┘             └─► state (a file)
//
// # Start and stop
//
// New opens every listener and restores the state before it returns, but nothing is answered before
// Run. A part unable to start closes the started parts. When Run's context ends, the doors answer
// the arrived requests and stop; then the flusher sends the last counts to the ring; then the state
// is written for the last time.
//
// A process may hold several nodes; the demo does. The package knows no command line, no signal and
// no service manager: both are the caller's, like the logger.
//
//	node, err := edge.New(ctx, edge.Options{File: "headgate.yaml", Log: slog.Default()})
//	if err != nil {
//		return err
//	}
//	return node.Run(ctx)
//
// A program with an embedded node asks by the methods of a client of a daemon, [Node.Check],
// [Node.Ask], [Node.Handler] and the others of client.Limiter; the example of [New] does so without
// any socket.
package edge
