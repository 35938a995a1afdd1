//go:build !unix

package http

// openRaw does nothing here: c holds a buffer while it waits for its client.
func (*httpConn) openRaw() {}

func (*httpConn) pullOnce(uintptr) bool { return false }

func (*httpConn) lookAgain(error) bool { return false }

func (*httpConn) writeNow([]byte) int { return 0 }
