//go:build !unix

package door

import "net"

// Queued is always false here: a connection that waits at ln is not seen.
func Queued(net.Listener) bool { return false }
