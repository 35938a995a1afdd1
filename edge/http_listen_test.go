package edge

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// TestHTTPUnix checks the socket's mode, that a socket left behind is replaced, and what is never replaced.
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

	ln, err := ListenHTTP(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	d := serveDoor(t, newHTTP(newFakeJudge(), testLimits()), ln)
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeSocket|unixSocketMode {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := ListenHTTP(t.Context(), address); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("listen twice: %v", err)
	}
	if r := d.get(t, "/v1/check?rule=login&key=a"); r.StatusCode != http.StatusOK {
		t.Errorf("status %d", r.StatusCode)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenHTTP(t.Context(), address); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("listen over a file: %v", err)
	}
}

// TestHTTPListenFails checks that a port in use is an error that names it.
func TestHTTPListenFails(t *testing.T) {
	t.Parallel()
	d := openDoor(t, newFakeJudge(), testLimits())
	taken, err := config.ParseAddress(d.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ListenHTTP(t.Context(), taken); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), d.addr.String()) {
		t.Errorf("listen twice: %v", err)
	}
}
