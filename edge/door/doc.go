// Package door holds the parts all decision listeners share: opening a stream listener, replacing a
// stale unix socket, and the errors of accept that pass. A door is a protocol's listener; each has
// its own package below this one.
//
//	config.Address ──► Listen ──► net.Listener ──► door/http, edge/admin
//	                   Doorstep, which turns away connections that have ended already
//	                   RemoveStale ──────────────► door/udp (unix datagram sockets)
//
// The package never reads a request, never decides one, and never removes a file that is not a
// dead socket.
package door
