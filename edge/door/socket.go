package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// SocketMode is the permission of a new unix socket: owner and group may connect.
const SocketMode = 0o660

// staleDial bounds the connection attempt telling a dead socket from a live socket.
const staleDial = 200 * time.Millisecond

// RemoveStale removes the unix socket at path if no process listens on it. network is "unix" or
// "unixgram". No file at path is no error. A file that is not a socket, and a socket with a
// listener, are left alone and are an error. Two processes that start at the same moment may both
// see a dead socket; the later bind then fails.
func RemoveStale(ctx context.Context, network, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return errors.New("the path exists and is not a socket")
	}
	dialer := net.Dialer{Timeout: staleDial}
	c, err := dialer.DialContext(ctx, network, path)
	switch {
	case err == nil:
		return errors.Join(errors.New("another process listens on it"), c.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("check for another listener: %w", err)
	}
	return os.Remove(path)
}
