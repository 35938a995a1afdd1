// Package edge is a whole node: it reads the configuration, wires the rooms together, and runs
// them.
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
// Run. A part that cannot start closes those that did. When Run's context ends, the doors answer
// the requests that have arrived and stop; then the flusher sends the last counts to the ring; then
// the state is written for the last time.
//
// A process may hold several nodes; the demo does. The package knows no command line, no signal and
// no service manager: they are the caller's, as the logger is.
//
//	node, err := edge.New(ctx, edge.Options{File: "headgate.yaml", Log: slog.Default()})
//	if err != nil {
//		return err
//	}
//	return node.Run(ctx)
//
// A program that embeds a node asks it by the methods of a client of a daemon, [Node.Check],
// [Node.Ask], [Node.Handler] and the others of client.Limiter; the example of [New] does so without
// any socket.
package edge
