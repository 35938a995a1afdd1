package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestNetworksByHand checks that block, allow and unblock take a network.
func TestNetworksByHand(t *testing.T) {
	edgetest.Alone(t)
	node, err := edge.NewGate(config.Default(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(admin.New(node, admin.Options{Local: true}))
	defer server.Close()
	b := newBench(t)
	b.env["HEADGATE_ADMIN"] = server.Listener.Addr().String()
	for _, c := range [][2]string{
		{"block login 2001:db8::/64", "block login 2001:db8::/64, "},
		{"allow per-ip 10.1.2.3/8", "allow per-ip 10.0.0.0/8, "},
		{"unblock per-ip 10.9.9.9/8", "per-ip"},
	} {
		code, stdout, stderr := b.run(t.Context(), strings.Fields(c[0])...)
		if code != 0 || !strings.Contains(stdout, c[1]) {
			t.Errorf("%s: exit %d, %q, %q", c[0], code, stdout, stderr)
		}
	}
}
