//go:build !race

package global

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/gossip/lossy"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window/bucket"
)

// simBuckets are buckets over all PoPs: of a few tokens and of many, quick and slow, with bursts of
// less and of more than a second's refill.
var simBuckets = []mitigation.Rule{
	{
		Name: "tens", Kind: mitigation.Bucket, Limit: 20, Window: 10 * time.Second, Burst: 5,
		Scope: mitigation.Global,
	},
	{
		Name: "minute", Kind: mitigation.Bucket, Limit: 120, Window: time.Minute, Burst: 30,
		Scope: mitigation.Global,
	},
	{
		Name: "second", Kind: mitigation.Bucket, Limit: 200, Window: time.Second, Burst: 50,
		Scope: mitigation.Global,
	},
	{
		Name: "large", Kind: mitigation.Bucket, Limit: 2000, Window: time.Second, Burst: 3000,
		Scope: mitigation.Global,
	},
}

// bucketClient asks for tokens of one bucket at random nodes. A good one asks for what a bucket of
// goodShare of the burst and of the refill gives; a flood asks for five times the refill.
type bucketClient struct {
	rule  *mitigation.Rule
	flood bool
	key   []byte
	pace  bucket.Bucket
	tat   bucket.TAT
	node  int // where it asks until it moves

	asked, admitted int64
}

func newBucketClient(r *mitigation.Rule, flood bool, number int) *bucketClient {
	c := &bucketClient{
		rule: r, flood: flood,
		key: fmt.Appendf(nil, "%s-%v-%d", r.Name, flood, number),
	}
	c.pace, _ = bucket.New(int64(goodShare*float64(r.Limit)), r.Window,
		int64(goodShare*float64(r.Burst)))
	return c
}

// ask makes the client's requests of one step. A good client waits until it may ask for all at
// once, or asks as soon as there is a token, for a while each.
func (c *bucketClient) ask(s *sim) {
	if c.flood {
		for range s.dice.poisson(5 * c.rule.PerSecond() * simStep.Seconds()) {
			c.request(s)
		}
		return
	}
	now := int64(s.now())
	if s.at/(4*time.Second)%2 == 0 && c.pace.Full(c.tat, now) > 0 {
		return
	}
	for next, ok := c.pace.Take(c.tat, now, 1); ok; next, ok = c.pace.Take(c.tat, now, 1) {
		c.tat = next
		c.request(s)
	}
}

func (c *bucketClient) request(s *sim) {
	if s.dice.chance(0.2) {
		c.node = s.dice.IntN(len(s.nodes))
	}
	c.asked++
	if !s.nodes[c.node].decide(c.rule.Name, c.key).Deny {
		c.admitted++
	}
}

const (
	// simBucketTime is for how long the clients ask.
	simBucketTime = 40 * time.Second
	// simBucketSeeds is how many worlds there are.
	simBucketSeeds = 3
)

// TestSimulatorBuckets: of a bucket over all PoPs a client that asks for at most 0.8 of the refill
// and of the burst, at any nodes, is never denied. A flood gets the refill, and beyond it the burst
// and what nodes admit before they know of each other.
func TestSimulatorBuckets(t *testing.T) {
	for seed := range uint64(simBucketSeeds) {
		synctest.Test(t, func(t *testing.T) { simulateBuckets(t, seed+1) })
	}
}

func simulateBuckets(t *testing.T, seed uint64) {
	rules := simBuckets
	if seed%3 == 0 {
		rules = numbered(rules, 150, 9, 30, 30)
	}
	s := startSim(t, &simPlan{
		seed: seed, pops: []int{2, 1, 2}, ring: []bool{true, seed%2 == 0, true}, rules: rules,
		links: lossy.Fault{Delay: time.Duration(seed) * 10 * time.Millisecond, Jitter: simStep},
	})
	var clients []*bucketClient
	for n := range simBuckets {
		clients = append(clients, newBucketClient(&simBuckets[n], true, 0))
		for number := range 3 {
			clients = append(clients, newBucketClient(&simBuckets[n], false, number))
		}
	}
	began := int(simWarm / simStep)
	for step := 1; step <= began+int(simBucketTime/simStep); step++ {
		if s.step(step); step > began {
			for _, c := range clients {
				c.ask(s)
			}
		}
	}
	for _, c := range clients {
		c.check(t, seed, len(s.nodes))
	}
}

// check judges a client after simBucketTime.
func (c *bucketClient) check(t *testing.T, seed uint64, nodes int) {
	t.Helper()
	if !c.flood {
		if c.admitted < c.asked || c.asked < int64(0.5*c.rule.PerSecond()*simBucketTime.Seconds()) {
			t.Errorf("seed %d: %s, at 0.8 of its bucket: %d of %d denied", seed, c.key,
				c.asked-c.admitted, c.asked)
		}
		return
	}
	refill := c.rule.PerSecond() * simBucketTime.Seconds()
	beyond := float64(c.admitted) - refill - float64(c.rule.Burst)
	t.Logf("seed %d: %s: %d admitted, refill %.0f, burst %d: %.3f of both", seed, c.key, c.admitted,
		refill, c.rule.Burst, float64(c.admitted)/(refill+float64(c.rule.Burst)))
	if float64(c.admitted) < refill || beyond > c.unseen(nodes) {
		t.Errorf("seed %d: %s gets %d: the refill is %.0f, with the burst of %d and %.0f unseen "+
			"it is %.0f at most",
			seed, c.key, c.admitted, refill, c.rule.Burst, c.unseen(nodes),
			refill+float64(c.rule.Burst)+c.unseen(nodes))
	}
}

// unseen is what the nodes admit beyond a bucket before they know of each other.
func (c *bucketClient) unseen(nodes int) float64 {
	return float64(nodes-1)*float64(c.rule.Burst) + 5*c.rule.PerSecond()*detection.Seconds()
}
