package client

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// dial connects a datagram socket. A unix socket needs a name for replies; binding without a name
// gets an abstract name on Linux, which leaves no file behind.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	if network == "unixgram" {
		d.Control = autobind
	}
	return d.DialContext(ctx, network, address)
}

func autobind(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.Bind(int(fd), &syscall.SockaddrUnix{})
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("bind to an abstract name: %w", err)
	}
	return nil
}
