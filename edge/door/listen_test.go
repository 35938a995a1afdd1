package door_test

import (
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// serve serves h at address until the test ends, or until stop, which returns the error of Serve.
func serve(t *testing.T, h *http.Door, address config.Address) (addr net.Addr, stop func() error) {
	t.Helper()
	ln, err := door.Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, ln) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr(), stop
}

// newHTTP returns a door to a gate of its own.
func newHTTP(t *testing.T) *http.Door {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	return http.New(g, nil, g.Lane(0))
}

// TestHTTPUnix checks the socket's mode, that a socket left behind is replaced, and that live
// sockets and other files are not.
func TestHTTPUnix(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "http.sock")
	address := config.Address{Path: path}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()

	addr, stop := serve(t, newHTTP(t), address)
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeSocket|door.SocketMode {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := door.Listen(t.Context(), address); err == nil ||
		!strings.Contains(err.Error(), "another process listens") {
		t.Errorf("listen twice: %v", err)
	}
	r := doortest.Exchange(t, doortest.Dial(t, addr),
		"GET /v1/check?rule=shed&key=a HTTP/1.1\r\nHost: h\r\n\r\n")
	if r.StatusCode != nethttp.StatusOK {
		t.Errorf("status %d", r.StatusCode)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := door.Listen(t.Context(), address); err == nil ||
		!strings.Contains(err.Error(), "not a socket") {
		t.Errorf("listen over a file: %v", err)
	}
}

// TestHTTPListenFails checks that a port in use is an error that names it.
func TestHTTPListenFails(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, newHTTP(t), config.Address{Host: "127.0.0.1"})
	taken, err := config.ParseAddress(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := door.Listen(t.Context(), taken); !errors.Is(err, syscall.EADDRINUSE) ||
		!strings.Contains(err.Error(), addr.String()) {
		t.Errorf("listen twice: %v", err)
	}
}
