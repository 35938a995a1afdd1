package global

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// simRole is the class of a client, by which the invariants judge it.
type simRole int

const (
	// at most 0.8 of the limit in any window, all over the world: never refused
	goodClient simRole = iota
	attacker           // far more than the limit
	vipClient          // likewise, but allowed by hand
)

var simRoleNames = [...]string{goodClient: "good", attacker: "attacker", vipClient: "vip"}

// goodShare is the most that a good client asks for, in limits a window.
const goodShare = 0.8

// goodSlack is how much longer than the rule's a good client's windows are: the admissions of other
// nodes are known to a part of a counting period, and to the difference of their clocks.
const goodSlack = 1.15

// simLoad is one client: how much it asks for when, and where.
type simLoad struct {
	role        simRole
	rule        string
	times       float64 // of the limit
	from, until time.Duration
	moves       time.Duration // how long it stays where it is
	skew        float64       // 0: alike at all PoPs; 1: nearly all of it at one
	bursts      bool          // all that fits at once, then nothing
}

func (l simLoad) String() string {
	return fmt.Sprintf("%s of %s, %.2g limits, %v to %v, moves every %v, skew %.2g, bursts %v",
		simRoleNames[l.role], l.rule, l.times, l.from, l.until, l.moves, l.skew, l.bursts)
}

// drawLoads draws the clients of a plan. Those of the rule judged by rates are costly, so they do
// not stay for long.
func (p *simPlan) drawLoads(d dice) (all []simLoad) {
	for _, r := range simRules {
		good := simLoad{
			role: goodClient, rule: r.Name, times: goodShare * (0.5 + 0.5*d.Float64()),
			until: p.last + simRejoin, moves: d.between(time.Second, 20*time.Second),
			skew: d.Float64(),
		}
		good.bursts = !r.RateMode() && d.chance(0.3)
		bad := simLoad{
			role: attacker, rule: r.Name, times: 10,
			from: d.between(simWarm, 8*time.Second), until: p.last + simRejoin,
			moves: p.last, skew: d.Float64(),
		}
		if r.RateMode() {
			good.from = d.between(0, 8*time.Second)
			good.until = good.from + d.between(4*time.Second, 8*time.Second)
			bad.until = bad.from + d.between(3*time.Second, 4*time.Second)
			if d.chance(0.1) { // to see whether all agree
				bad.from, bad.until = p.last-4*time.Second, p.last+time.Minute
			}
			if d.chance(0.7) { // one of them is enough
				bad.until = bad.from
			} else {
				good.until = good.from
			}
		}
		all = append(all, good, bad)
	}
	vip := all[3]
	vip.role = vipClient
	return append(all, vip)
}

// simClient is a load under way.
type simClient struct {
	simLoad
	rule    *mitigation.Rule
	key     []byte
	log     *window.Log // of all the world
	pace    *window.Log // that a good client keeps to
	weights []float64   // by PoP
	moved   time.Duration

	offered, refused, admitted int64
}

func newSimClient(l simLoad, number int) *simClient {
	r := simRule(l.rule)
	return &simClient{
		simLoad: l, rule: r, key: fmt.Appendf(nil, "%s%d", simRoleNames[l.role], number),
		log:  window.NewLog(r.Window, time.Millisecond),
		pace: window.NewLog(time.Duration(goodSlack*float64(r.Window)), time.Millisecond),
	}
}

// move draws anew where the client's requests come in.
func (c *simClient) move(d dice, pops int, at time.Duration) {
	if c.weights != nil && at-c.moved < c.moves {
		return
	}
	c.moved, c.weights = at, make([]float64, pops)
	first := d.IntN(pops)
	for n := range c.weights {
		c.weights[n] = 1 - c.skew
		if n == first {
			c.weights[n] = 1
		}
	}
}

// due returns how many requests the client makes in this step.
func (c *simClient) due(d dice, now window.Instant, at time.Duration) int {
	if at < c.from || at >= c.until {
		return 0
	}
	most := int64(goodShare * float64(c.rule.Limit))
	if c.bursts {
		if c.pace.Offered(now) > 0 {
			return 0
		}
		return int(most)
	}
	n := d.poisson(c.times * c.rule.PerSecond() * simStep.Seconds())
	if c.role == goodClient {
		n = min(n, most-c.pace.Offered(now))
	}
	return int(n)
}

// ask makes the client's requests of one step.
func (s *sim) ask(c *simClient) {
	c.move(s.dice, len(s.plan.pops), s.at)
	now := s.now()
	for range c.due(s.dice, now, s.at) {
		n := s.pick(c.weights)
		if n == nil {
			return
		}
		c.log.Offer(now, 1)
		c.pace.Offer(now, 1)
		c.offered++
		a := n.decide(c.rule.Name, c.key)
		if !a.Deny {
			c.admitted++
			c.log.Admit(now, 1)
			continue
		}
		c.refused++
		if c.role == attacker {
			continue
		}
		if why := s.open(c, n); why != "" {
			s.known[why]++
		} else {
			s.fail("I1", "%s refused %s at %s, %s in view of the %v, ratio %.3f, with %d of %d "+
				"offered in the world's "+
				"window", c.key, a.Why, n.name, c.rule.Name, a.View, a.Ratio.Float(),
				c.log.Offered(now), c.rule.Limit)
			s.explain(c)
		}
	}
}

// pick returns a node that answers, in a PoP drawn by weights; nil when none does.
func (s *sim) pick(weights []float64) *simNode {
	sum := 0.0
	for pop, w := range weights {
		if len(s.answering[pop]) > 0 {
			sum += w
		}
	}
	u := s.dice.Float64() * sum
	for pop, w := range weights {
		if nodes := s.answering[pop]; len(nodes) > 0 {
			if u -= w; u < 0 {
				return nodes[s.dice.IntN(len(nodes))]
			}
		}
	}
	return nil
}
