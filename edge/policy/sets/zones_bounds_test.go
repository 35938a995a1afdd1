package sets

import (
	"net/netip"
	"testing"
)

// The last address of a network is the one before the next network, whatever bits its first one has.
func TestBoundsOfNetworks(t *testing.T) {
	for _, text := range []string{"203.0.113.0/24", "192.0.2.0/24", "255.255.255.255/32", "0.0.0.0/0", "10.1.0.0/16", "2001:db8:1::/48", "2001:db8::1/128", "::/0"} {
		net := netip.MustParsePrefix(text)
		first, last := bounds(net)
		if first.high > last.high || first.high == last.high && first.low > last.low {
			t.Errorf("%s ends before it begins: %x %x", net, first, last)
		}
		z := union([]netip.Prefix{net})
		if !z.contains(net.Addr()) {
			t.Errorf("%s does not hold its first address", net)
		}
	}
}
