package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
)

// Whoever has the key can write another member's name on a packet. The real member's packets must
// still be accepted, or each PoP would hold the limit by itself.
func TestForgedNameSilencesNobody(t *testing.T) {
	f := newFleet(t, second, 1, 1, 1)
	attack := asked(map[string]float64{"a": 30_000, "b": 15_000, "c": 5_000})
	f.run(3*time.Second, attack)
	for _, n := range f.order {
		for _, m := range f.order {
			if m != n {
				for session := range uint64(2 * peers.MaxSessions) {
					h := f.by(m.name)
					h.Session = session
					f.forge(n, h)
				}
			}
		}
	}
	f.run(40*time.Second, attack)
	for _, n := range f.order {
		if p := n.advice.View; !p.Shed || p.Sum < 45_000 {
			t.Errorf("%s: the world's sum is %.0f, want 50000", n.name, p.Sum)
		}
	}
}
