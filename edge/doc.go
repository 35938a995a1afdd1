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
// A process may hold several nodes; the demo does. The package knows no command line, no signal and
// no service manager: they are the caller's, as the logger is.
//
//	node, err := edge.New(ctx, edge.Options{File: "headgate.yaml", Log: slog.Default()})
//	if err != nil {
//		return err
//	}
//	return node.Run(ctx)
//
// A program that embeds a node decides through [Node.Gate]; the example of [New] does so without any socket.
package edge
