package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/config"
)

// TestNetworksByHand checks that block and allow say of a network that it is refused, and take it with --shown.
func TestNetworksByHand(t *testing.T) {
	node, err := edge.NewGate(config.Default(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(admin.New(node, admin.Options{Local: true}))
	defer server.Close()
	b := newBench(t)
	b.env["HEADGATE_ADMIN"] = server.Listener.Addr().String()
	for _, line := range []string{"block login 2001:db8::/64", "allow per-ip 10.0.0.0/8"} {
		code, stdout, stderr := b.run(t.Context(), strings.Fields(line)...)
		if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, "networks are not supported yet") {
			t.Errorf("%s: exit %d, %q, %q", line, code, stdout, stderr)
		}
		if code, stdout, stderr := b.run(t.Context(), append(strings.Fields(line), "--shown")...); code != 0 || stdout == "" {
			t.Errorf("%s --shown: exit %d, %q, %q", line, code, stdout, stderr)
		}
	}
}
