//go:build unix

package ring

import (
	"net"
	"syscall"
)

// quiet tells whether an idle connection is open and nothing came on it unasked. What has been read is lost: a connection
// that is not quiet is for closing. Where it cannot know without waiting, as with TLS, it says yes.
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
