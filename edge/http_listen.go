package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/headgate-dev/headgate/edge/config"
)

// ListenHTTP opens a listener for HTTP at address. A socket file left behind by a process that is gone is replaced; a
// socket somebody listens on and a file that is no socket are left alone and are an error. A new socket file has mode
// 0660 and is removed when the listener closes.
func ListenHTTP(ctx context.Context, address config.Address) (net.Listener, error) {
	network, at := address.Stream()
	if address.IsUnix() {
		if err := removeStale(ctx, network, at); err != nil {
			return nil, fmt.Errorf("edge: listen on http %s: %w", address, err)
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, network, at)
	if err != nil {
		return nil, fmt.Errorf("edge: listen on http %s: %w", address, err)
	}
	if !address.IsUnix() {
		return ln, nil
	}
	if err := os.Chmod(at, unixSocketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("edge: listen on http %s: %w", address, err), ln.Close())
	}
	return ln, nil
}
