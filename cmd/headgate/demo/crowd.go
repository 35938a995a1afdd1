package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

const (
	demoClients = 80  // normal ones
	demoBusiest = 0.6 // of the limit: the rate of the busiest normal client, over all PoPs
	demoMost    = 0.1 // of the limit: the highest rate of any other
	demoRoams   = 0.2 // of their requests arrive at another PoP than their own
	demoJitter  = 0.2 // by which the time between two requests differs, either way
)

// demoClient is a normal client, which never comes near the limit.
type demoClient struct {
	key  []byte
	rate float64       // requests a second
	home int           // PoP; below 0: none more than another
	next time.Duration // when it asks next
}

// demoCrowd is the normal clients. Which of them asks when, and where, follows from the seed alone.
type demoCrowd struct {
	clients []demoClient
	draw    *rand.Rand
}

// newDemoCrowd returns normal clients of a limit a second, and the address of the attacker.
func newDemoCrowd(seed uint64, limit float64) (crowd *demoCrowd, attacker string) {
	c := &demoCrowd{draw: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // repeatable on purpose
	hosts := c.draw.Perm(254)
	for n := range demoClients {
		one := demoClient{key: fmt.Appendf(nil, "203.0.113.%d", hosts[n]+1), home: c.draw.IntN(len(demoPoPs))}
		one.rate = min(demoMost*limit, math.Pow(1-c.draw.Float64(), -0.8)) // many that ask seldom, a few that ask often
		if n == 0 {
			one.rate, one.home = demoBusiest*limit, -1
		}
		one.next = time.Duration(c.draw.Float64() / one.rate * float64(time.Second))
		c.clients = append(c.clients, one)
	}
	return c, fmt.Sprintf("198.51.100.%d", 1+c.draw.IntN(254))
}

// due appends who asks before t and has not yet, by PoP.
func (c *demoCrowd) due(t time.Duration, to *[len(demoPoPs)][][]byte) {
	for n := range c.clients {
		one := &c.clients[n]
		for one.next < t {
			pop := c.place(one)
			to[pop] = append(to[pop], one.key)
			wait := (1 - demoJitter + 2*demoJitter*c.draw.Float64()) / one.rate
			one.next += time.Duration(wait * float64(time.Second))
		}
	}
}

// place returns where a client's request arrives.
func (c *demoCrowd) place(one *demoClient) int {
	if one.home < 0 || c.draw.Float64() < demoRoams {
		return c.draw.IntN(len(demoPoPs))
	}
	return one.home
}
