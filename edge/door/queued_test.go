package door_test

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// TestQueued: a connection that nobody accepted is seen, and only until it is.
func TestQueued(t *testing.T) {
	for _, at := range []config.Address{
		{Host: "127.0.0.1"},
		{Path: filepath.Join(t.TempDir(), "sock")},
	} {
		ln, err := door.Listen(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		if door.Queued(ln) {
			t.Errorf("%v: nobody came", at)
		}
		doortest.Dial(t, ln.Addr())
		doortest.WaitFor(t, func() bool { return door.Queued(ln) })
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.Close()
		if door.Queued(ln) {
			t.Errorf("%v: it was accepted", at)
		}
	}
	if door.Queued(doortest.FailingListener{Err: net.ErrClosed}) {
		t.Error("without a socket")
	}
}
