package udp

import (
	"context"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenAlone opens a socket on a port no other socket has, in this process or another. The bind is
// without SO_REUSEPORT, so the kernel refuses the port if taken by any socket, shared or not; of
// two daemons starting together either is refused. Only afterwards is the option set, so sockets of
// listenBeside may join.
func listenAlone(ctx context.Context, network, address string) (*net.UDPConn, error) {
	c, err := listenUDP(ctx, network, address, false)
	if err != nil {
		return nil, err
	}
	raw, err := c.SyscallConn()
	if err == nil {
		err = onSocket(raw, shared)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// listenBeside opens another socket on the port of a socket from listenAlone. The kernel assigns
// each sender address to a socket by a hash.
func listenBeside(ctx context.Context, network, address string) (*net.UDPConn, error) {
	return listenUDP(ctx, network, address, true)
}

// listenUDP opens a socket with a receive buffer of receiveBuffer bytes, or less where the kernel
// grants less. beside allows a socket to share the port.
func listenUDP(ctx context.Context, network, address string, beside bool) (*net.UDPConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return onSocket(raw, func(fd int) error {
			// best effort
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
			if beside {
				return shared(fd)
			}
			return nil
		})
	}}
	c, err := config.ListenPacket(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil // of network udp
}

// shared sets SO_REUSEPORT on fd: sockets of the same user with the option set before bind may have
// the same port.
func shared(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }

// onSocket calls do with the file descriptor of raw and returns the error of either.
func onSocket(raw syscall.RawConn, do func(fd int) error) (err error) {
	outer := raw.Control(func(fd uintptr) { err = do(int(fd)) })
	return errors.Join(outer, err)
}
