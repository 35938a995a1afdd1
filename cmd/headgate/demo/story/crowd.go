package story

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

const (
	clients = 80  // normal ones
	busiest = 0.6 // of the limit: the rate of the busiest normal client, over all PoPs
	most    = 0.1 // of the limit: the highest rate of any other
	jitter  = 0.2 // the time between two requests differs by up to this share, either way
)

// client is a normal client: never near the limit.
type client struct {
	key  []byte
	rate float64       // requests a second
	home int           // PoP; below 0: none more than another
	next time.Duration // the time of its next request
}

// crowd is the normal clients.
type crowd struct {
	clients []client
	draw    *rand.Rand
}

// newCrowd returns the normal clients and the address of the attacker.
func newCrowd(seed uint64) (c *crowd, attacker string) {
	c = &crowd{draw: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // repeatable on purpose
	hosts := c.draw.Perm(254)
	for n := range clients {
		one := client{
			key:  fmt.Appendf(nil, "203.0.113.%d", hosts[n]+1),
			home: c.draw.IntN(len(PoPs)),
		}
		// most send seldom, a few send often
		one.rate = min(most*Limit, math.Pow(1-c.draw.Float64(), -0.8))
		if n == 0 {
			one.rate, one.home = busiest*Limit, -1
		}
		one.next = time.Duration(c.draw.Float64() / one.rate * float64(time.Second))
		c.clients = append(c.clients, one)
	}
	return c, fmt.Sprintf("198.51.100.%d", 1+c.draw.IntN(254))
}

// until appends the keys of the requests before t not returned yet, by PoP.
func (c *crowd) until(t time.Duration, to *[len(PoPs)][][]byte) {
	for n := range c.clients {
		one := &c.clients[n]
		for one.next < t {
			pop := c.place(one)
			to[pop] = append(to[pop], one.key)
			wait := (1 - jitter + 2*jitter*c.draw.Float64()) / one.rate
			one.next += time.Duration(wait * float64(time.Second))
		}
	}
}

// place returns the PoP at which a client's request arrives.
func (c *crowd) place(one *client) int {
	// the share of a client's requests arriving at another PoP than the home
	if one.home < 0 || c.draw.Float64() < 0.2 {
		return c.draw.IntN(len(PoPs))
	}
	return one.home
}
