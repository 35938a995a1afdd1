package udp

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate"
)

// Start serves g at address with so many readers, until the test ends.
func Start(t *testing.T, g *gate.Gate, address string, readers int) *Door {
	t.Helper()
	u := listen(t, g, address, readers)
	serve(t, u)
	return u
}

// listen opens a door of g at address, with so many readers.
func listen(t *testing.T, g *gate.Gate, address string, readers int) *Door {
	t.Helper()
	at, err := config.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	u, err := Listen(t.Context(), g, nil, at, readers)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// serve serves u until the test ends.
func serve(t *testing.T, u *Door) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- u.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// Exchange sends one datagram on c and returns the answer.
func Exchange(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	if _, err := c.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(doortest.Patience))
	reply := make([]byte, 64<<10)
	n, err := c.Read(reply)
	if err != nil {
		t.Fatalf("no answer to %.60q: %v", request, err)
	}
	return string(reply[:n])
}
