package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/headgate-dev/headgate/edge/config"
)

// Listen opens a stream listener, TCP or unix, at address. Errors begin with "listen on" and the
// address.
//
// A unix socket file nobody listens on is replaced. A socket with a listener, or a file of another
// kind, is left alone and is an error. The new socket file has mode SocketMode and is removed when
// the listener closes. Port 0 picks a free port. ctx bounds only the opening.
func Listen(ctx context.Context, address config.Address) (net.Listener, error) {
	network, at := address.Stream()
	if address.IsUnix() {
		if err := RemoveStale(ctx, network, at); err != nil {
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, network, at)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if !address.IsUnix() {
		return ln, nil
	}
	if err := os.Chmod(at, SocketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", address, err), ln.Close())
	}
	return ln, nil
}
