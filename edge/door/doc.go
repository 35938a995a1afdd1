// Package door holds the parts that all decision listeners share: opening a stream listener,
// replacing a stale unix socket, the errors of accept that pass, and a histogram of decision times. A door is one protocol's
// listener; each has its own package below this one.
//
//	config.Address ──► Listen ──► net.Listener ──► door/http, edge/admin
//	                   RemoveStale ──────────────► door/udp (unix datagram sockets)
//	a door's loop ──► Latency.Note ──► LatencySum.Add ──► edge/metrics
//
// The histogram is coarse on purpose: six buckets, and one batch in LatencyEvery. It shows a slow
// node, and cannot show the tail of single requests.
//
// The package never reads a request, never decides one, and never removes a file that is not a
// dead socket.
package door
