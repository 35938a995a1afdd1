package global

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/gossip/lossy"
	"github.com/headgate-dev/headgate/mitigation"
)

// simStep is the grain of simulated time: everything happens at multiples of it.
const simStep = 10 * time.Millisecond

// simRules are the rules that all simulated nodes have: one judged by rates, two by counts.
var simRules = []mitigation.Rule{
	{Name: "fast", Limit: 2000, Window: time.Second, Scope: mitigation.Global},
	{Name: "tens", Limit: 20, Window: 10 * time.Second, Scope: mitigation.Global},
	{
		Name: "login", Limit: 5, Window: time.Minute, Scope: mitigation.Global,
		Action: mitigation.Block, BlockFor: 2 * time.Minute,
	},
}

// numbered are rules by other limits, under which each key has the number of rules.
func numbered(rules []mitigation.Rule, limits ...int64) (under []mitigation.Rule) {
	for i, r := range rules {
		r.Numbers = &mitigation.Numbers{
			Set: "t", List: []mitigation.Number{{Limit: r.Limit, Burst: r.Burst}},
			Find: func([]byte) int { return 0 },
		}
		if r.Limit = limits[i]; r.Burst > 0 {
			r.Burst += 20
		}
		under = append(under, r)
	}
	return under
}

// farName is how the coordinators call r.
func (s *sim) farName(r *mitigation.Rule) string {
	if s.plan.rules == nil {
		return r.Name
	}
	return fmt.Sprintf("%s#%d/0", r.Name, r.Limit)
}

func simRule(name string) *mitigation.Rule {
	return &simRules[slices.IndexFunc(simRules,
		func(r mitigation.Rule) bool { return r.Name == name })]
}

// simPlan holds the decisions that a seed makes before anything runs.
type simPlan struct {
	seed   uint64
	full   bool          // over memberlist; else over plain links, and who sits is handed out
	pops   []int         // nodes of each
	ring   []bool        // by PoP: whether its nodes count together
	links  lossy.Fault   // while all is well
	detect time.Duration // plain links: from silence to being seated no more
	rejoin time.Duration // plain links: from a healed partition to being seated again
	last   time.Duration
	memory int64             // of a node, if more than few keys need
	rules  []mitigation.Rule // of all nodes; nil: simRules
	state  string            // directory that nodes keep their states in; empty: they keep none
	loads  []simLoad
	faults []simFault
}

// simKind is a kind of fault.
type simKind int

const (
	faultLinks      simKind = iota // packets are lost, late, doubled, overtaken
	faultOneWay                    // one node is not heard by another
	faultPartition                 // PoPs cannot reach one another
	faultPause                     // a node stops for a while
	faultCrash                     // a node dies, and starts anew
	faultClock                     // a node's wall clock steps
	faultRingDeath                 // a PoP's ring does not answer
	faultRingLoss                  // some of its exchanges fail
	faultRingSlow                  // it answers late
	faultRingForget                // it forgets everything
	simKinds
)

var simKindNames = [...]string{
	faultLinks: "links", faultOneWay: "one-way cut", faultPartition: "partition",
	faultPause: "pause", faultCrash: "crash", faultClock: "clock step",
	faultRingDeath: "ring dead", faultRingLoss: "ring loses", faultRingSlow: "ring slow",
	faultRingForget: "ring forgets",
}

func (k simKind) String() string { return simKindNames[k] }

// simFault goes wrong from at to until.
type simFault struct {
	kind      simKind
	at, until time.Duration
	node      int // of the cluster; of a one-way cut: who is not heard
	other     int // by whom
	pop       int // of a ring
	sides     []int
	share     float64       // of packets lost
	step      time.Duration // of a clock; of a ring: how late
	links     lossy.Fault
}

func (f simFault) String() string {
	text := fmt.Sprintf("%6.2fs to %6.2fs %s", f.at.Seconds(), f.until.Seconds(), f.kind)
	switch f.kind {
	case faultLinks:
		return fmt.Sprintf("%s %+v", text, f.links)
	case faultOneWay:
		return fmt.Sprintf("%s: node %d does not hear %d", text, f.other, f.node)
	case faultPartition:
		return fmt.Sprintf("%s: sides of the PoPs %v", text, f.sides)
	case faultPause, faultCrash:
		return fmt.Sprintf("%s of node %d", text, f.node)
	case faultClock:
		return fmt.Sprintf("%s of node %d by %v", text, f.node, f.step)
	case faultRingLoss:
		return fmt.Sprintf("%s %.0f %% of PoP %d's exchanges", text, 100*f.share, f.pop)
	case faultRingSlow:
		return fmt.Sprintf("%s by %v in PoP %d", text, f.step, f.pop)
	}
	return fmt.Sprintf("%s in PoP %d", text, f.pop)
}

// String tells the whole plan.
func (p *simPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: nodes %v, rings %v, memberlist %v, %v, links %+v, seated after %v "+
		"and %v\n",
		p.seed, p.pops, p.ring, p.full, p.last, p.links, p.detect, p.rejoin)
	for _, l := range p.loads {
		fmt.Fprintf(&b, "  load  %v\n", l)
	}
	for _, f := range p.faults {
		fmt.Fprintf(&b, "  fault %v\n", f)
	}
	return b.String()
}

func (p *simPlan) nodes() (n int) {
	for _, in := range p.pops {
		n += in
	}
	return n
}

// dice draws the random numbers of a plan.
type dice struct{ *rand.Rand }

func newDice(seed, of uint64) dice {
	return dice{rand.New(rand.NewPCG(seed, of))}
}

// between draws evenly from a to b, in whole steps.
func (d dice) between(a, b time.Duration) time.Duration {
	return (a + time.Duration(d.Int64N(int64(b-a)+1))).Truncate(simStep)
}

func (d dice) chance(share float64) bool { return d.Float64() < share }

// poisson draws the number of events in a step, of which there are mean on average.
func (d dice) poisson(mean float64) (n int64) {
	for left := math.Exp(-mean); ; n++ { // a mean of a few hundred at most
		if left = left / max(d.Float64(), 1e-300); left >= 1 {
			return n
		}
	}
}

const (
	simWarm  = 4 * time.Second // before anything goes wrong, and before any attack
	simMost  = 10              // nodes
	simSmall = 3
)

// newSimPlan draws the plan of seed. most bounds the nodes.
func newSimPlan(seed uint64, full bool, most int) *simPlan {
	d := newDice(seed, 1)
	p := &simPlan{
		seed: seed, full: full, last: d.between(16*time.Second, 24*time.Second),
		links: lossy.Fault{
			Delay:  d.between(0, 40*time.Millisecond),
			Jitter: d.between(simStep, 2*simStep),
		},
		detect: d.between(4*time.Second, 8*time.Second), rejoin: d.between(0, 15*time.Second),
	}
	_ = !full && d.chance(0.05) // keeps the plans of the seeds
	// small ones more often: they are quick
	p.layOut(d, simSmall+min(d.IntN(most-simSmall+1), d.IntN(most-simSmall+1)))
	p.loads = p.drawLoads(d)
	for range d.IntN(5) {
		p.faults = append(p.faults, p.drawFault(d))
	}
	slices.SortFunc(p.faults, func(a, b simFault) int { return int(a.at - b.at) })
	return p
}

// layOut puts nodes into PoPs.
func (p *simPlan) layOut(d dice, nodes int) {
	p.pops = make([]int, 2+d.IntN(min(4, nodes-1)))
	for n := range nodes {
		at := n // one each at least
		if n >= len(p.pops) {
			at = d.IntN(len(p.pops))
		}
		p.pops[at]++
	}
	for _, in := range p.pops {
		// several without a ring are checked as well
		p.ring = append(p.ring, in > 1 || d.chance(0.5))
		if in > 1 && d.chance(0.1) {
			p.ring[len(p.ring)-1] = false
		}
	}
}

// drawFault draws one fault of any kind that the cluster can have.
func (p *simPlan) drawFault(d dice) simFault {
	f := simFault{
		at: d.between(simWarm, 10*time.Second), kind: simKind(d.IntN(int(simKinds))),
		node: d.IntN(p.nodes()), pop: d.IntN(len(p.pops)),
	}
	f.until = f.at + d.between(500*time.Millisecond, 10*time.Second)
	f.other = (f.node + 1 + d.IntN(p.nodes()-1)) % p.nodes()
	if rings := p.rings(); f.kind >= faultRingDeath && len(rings) == 0 {
		f.kind = faultPause
	} else if f.kind >= faultRingDeath {
		f.pop = rings[d.IntN(len(rings))]
	}
	switch f.kind {
	case faultLinks:
		f.links = lossy.Fault{
			Loss: 0.5 * d.Float64(), Duplicate: 0.3 * d.Float64(),
			Delay:  p.links.Delay + d.between(0, 100*time.Millisecond),
			Jitter: d.between(simStep, 100*time.Millisecond),
		}
	case faultPartition:
		f.sides = p.drawSides(d)
	case faultClock:
		f.step = p.drawStep(d)
	case faultRingLoss:
		f.share = 0.5 * d.Float64()
	case faultRingSlow:
		f.step = d.between(simStep, 300*time.Millisecond)
	case faultRingForget:
		f.until = f.at
	}
	return f
}

func (p *simPlan) rings() (with []int) {
	for n, is := range p.ring {
		if is {
			with = append(with, n)
		}
	}
	return with
}

// drawSides gives each PoP a side; at least two sides have some.
func (p *simPlan) drawSides(d dice) []int {
	sides := make([]int, len(p.pops))
	for n := range sides {
		sides[n] = d.IntN(2 + d.IntN(2))
	}
	if slices.Min(sides) == slices.Max(sides) {
		sides[d.IntN(len(sides))]++
	}
	return sides
}

// drawStep draws how far a wall clock jumps: a second or so as often as an hour, to both sides.
func (p *simPlan) drawStep(d dice) time.Duration {
	step := d.between(600*time.Millisecond, 3*time.Second)
	if d.chance(0.5) {
		step = d.between(10*time.Second, time.Hour)
	}
	if d.chance(0.5) {
		step = -step
	}
	return step
}
