package udp_test

import (
	"net"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// A port belongs to one door: a second one is refused in words, whichever address of it either asks
// for.
func TestUDPPortIsNotShared(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	for _, c := range []struct {
		first, second string
		free          bool
	}{
		{"127.0.0.1", "127.0.0.1", false},
		{"::", "", false}, // every interface
		{"127.0.0.1", "", false},
		{"::", "127.0.0.1", false},
		{"::1", "::1", false},
		{"::1", "", false},
		{"::", "::1", false},
		{"127.0.0.1", "::1", true},
		{"127.0.0.1", "127.0.0.2", true},
	} {
		for _, readers := range []int{1, 4} {
			first, err := udp.Listen(t.Context(), g, nil, config.Address{Host: c.first}, readers)
			if err != nil {
				t.Fatal(err)
			}
			port := uint16(first.Addr().(*net.UDPAddr).Port)
			second, err := udp.Listen(t.Context(), g, nil,
				config.Address{Host: c.second, Port: port}, readers)
			if err == nil {
				_ = second.Close()
			}
			if (err == nil) != c.free || err != nil &&
				!strings.Contains(err.Error(), "another process listens there") {
				t.Errorf("%q, then %q, %d readers: %v", c.first, c.second, readers, err)
			}
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			again, err := udp.Listen(t.Context(), g, nil,
				config.Address{Host: c.second, Port: port}, readers)
			if err != nil {
				t.Fatalf("when the first has gone: %v", err)
			}
			_ = again.Close()
		}
	}
}
