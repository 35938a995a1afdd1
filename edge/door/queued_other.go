//go:build !unix

package door

import "net"

// Queued is always false here: a connection waiting at ln is not seen.
func Queued(net.Listener) bool { return false }
