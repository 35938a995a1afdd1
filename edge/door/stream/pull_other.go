//go:build !unix

package stream

// socket is not known.
type socket struct{}

// writeNow writes nothing.
func (*Conn) writeNow([]byte) int { return 0 }

// pull feeds f nothing, and says so.
func (*Conn) pull(Feeder) bool { return false }

// hasClosed reports false: only a read tells.
func (*Conn) hasClosed() bool { return false }
