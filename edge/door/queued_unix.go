//go:build unix

package door

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Queued reports whether a connection waits at ln to be accepted. It does not wait, and heeds no
// deadline of ln. It is false for a listener without a socket.
func Queued(ln net.Listener) (queued bool) {
	sc, ok := ln.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(look, 0)
		queued = n == 1 && err == nil && look[0].Revents&unix.POLLIN != 0
	})
	return queued && err == nil
}
