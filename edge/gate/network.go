package gate

import (
	"net/netip"

	"github.com/headgate-dev/headgate/window"
)

// isNetwork reports whether key reads as a network, such as 10.0.0.0/8 or 2001:db8::/64. A flag
// holds for a single key, so a flag of a network matches no address in it. A path is no network,
// nor is an address with anything but a prefix length behind the slash.
func isNetwork(key []byte) bool {
	_, err := netip.ParsePrefix(string(key))
	return err == nil
}

// hasKey reports whether r certainly has key: it is counted exactly, has a flag, or has an
// override. The sketch is not asked, because a collision there would vouch for a key that no
// request has sent.
func (g *Gate) hasKey(now window.Instant, r *rule, key []byte) bool {
	i := r.meter.Index(key)
	_, counted := r.meter.Suspect(i)
	_, given := g.overrides.Last(g.Wall(now).UnixMilli(), r.Name, key)
	return counted || given || g.flags.Get(now, i).Live()
}
