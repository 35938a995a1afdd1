//go:build !linux

package client

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// dial connects a datagram socket. A unix socket needs a name for replies: a file in a directory no
// other user can write to.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	if network != "unixgram" {
		return d.DialContext(ctx, network, address)
	}
	dir, err := os.MkdirTemp("", "headgate")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the client's socket: %w", err)
	}
	d.LocalAddr = &net.UnixAddr{Net: network, Name: filepath.Join(dir, "client")}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &namedConn{conn, dir}, nil
}

// namedConn removes the name when closed.
type namedConn struct {
	net.Conn
	dir string
}

func (c *namedConn) Close() error {
	err := c.Conn.Close()
	_ = os.RemoveAll(c.dir)
	return err
}
