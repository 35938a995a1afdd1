//go:build !unix

package http

// openRaw does nothing here: c holds a buffer while it waits for its client.
func (*httpConn) openRaw() {}
