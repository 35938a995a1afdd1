package gossip

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestPingsShowClocks: a member's answer to a ping shows its wall clock.
func TestPingsShowClocks(t *testing.T) {
	const ahead = -7 * time.Second
	var seen atomic.Int64
	a := newPeer(t, "a", func(c *Config) {
		c.Pinged = func(name string, lead, round time.Duration) {
			// The answer is under way for some part of the round trip, and waits for this program.
			if off := ahead - lead; name == "b" && round > 0 && off >= 0 && off < 5*time.Second {
				seen.Add(1)
			} else {
				t.Errorf("%s is %v ahead, round trip %v", name, lead, round)
			}
		}
	})
	newPeer(t, "b", func(c *Config) {
		join(a)(c)
		c.Wall = func() time.Time { return time.Now().Add(ahead) }
	})
	eventually(t, "two answers", func() bool { return seen.Load() > 1 })
}
