package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	unixPrefix     = "unix:"
	unixSocketMode = 0o660                  // who may connect: owner and group
	staleDial      = 200 * time.Millisecond // to find out whether anybody still listens on a socket
)

// ListenHTTP opens a listener on addr, "host:port" or "unix:/path". A socket file left behind by a process that is gone is
// replaced; a socket somebody listens on and a file that is no socket are left alone and are an error. A new socket file
// has mode 0660 and is removed when the listener closes.
func ListenHTTP(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	path, isUnix := strings.CutPrefix(addr, unixPrefix)
	if !isUnix {
		ln, err := lc.Listen(ctx, "tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("http: listen on %s: %w", addr, err)
		}
		return ln, nil
	}
	if err := removeStale(ctx, "unix", path); err != nil {
		return nil, fmt.Errorf("http: listen on %s: %w", addr, err)
	}
	ln, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("http: listen on %s: %w", addr, err)
	}
	if err := os.Chmod(path, unixSocketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("http: permit the group to connect to %s: %w", path, err), ln.Close())
	}
	return ln, nil
}

// removeStale removes the socket at path if it is one and nobody listens on it.
func removeStale(ctx context.Context, network, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return errors.New("a file is in the way that is not a socket")
	}
	dialer := net.Dialer{Timeout: staleDial}
	c, err := dialer.DialContext(ctx, network, path)
	switch {
	case err == nil:
		return errors.Join(errors.New("another process listens there"), c.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("ask whether anybody listens: %w", err)
	}
	return os.Remove(path)
}
