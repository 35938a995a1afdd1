//go:build unix

package ring

import (
	"net"
	"syscall"
)

// quiet reports whether an idle connection is open and no data arrived on it. Data it finds is
// lost: a connection that is not quiet must be closed. Where it cannot tell without waiting, as
// with TLS, it returns true.
func quiet(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var got error
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, got = syscall.Read(int(fd), b[:]) // sockets of this runtime never block
	})
	return err == nil && (got == syscall.EAGAIN || got == syscall.EINTR)
}
