package sets_test

import (
	"net/netip"
	"testing"

	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// A network begins at its first address and ends at its last, whatever bits they have.
func TestBoundsOfNetworks(t *testing.T) {
	for _, text := range []string{
		"203.0.113.0/24", "192.0.2.0/24", "255.255.255.255/32",
		"0.0.0.0/0", "10.1.0.0/16", "2001:db8:1::/48", "2001:db8::1/128", "::/0",
	} {
		net := netip.MustParsePrefix(text)
		set := sets.OfNets([]netip.Prefix{net})
		for _, inside := range []netip.Addr{net.Addr(), lastOf(net)} {
			if !set.HasAddress(inside) {
				t.Errorf("%s does not hold %s", net, inside)
			}
		}
		for _, outside := range []netip.Addr{net.Addr().Prev(), lastOf(net).Next()} {
			if outside.IsValid() && set.HasAddress(outside) {
				t.Errorf("%s holds %s", net, outside)
			}
		}
	}
}
