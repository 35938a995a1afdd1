package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	unixSocketMode = 0o660                  // who may connect: owner and group
	staleDial      = 200 * time.Millisecond // to find out whether anybody still listens on a socket
)

// removeStale removes the socket at path if it is one and nobody listens on it; anything else there is
// left alone and is an error.
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
