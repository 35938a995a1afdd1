package gate

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/gate/networks"
	"github.com/headgate-dev/headgate/edge/gate/observer"
	"github.com/headgate-dev/headgate/edge/gate/tables"
	"github.com/headgate-dev/headgate/edge/gate/usedup"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// Lanes is the number of lanes of a Gate: a power of two above the number of readers on any usual
// machine.
const Lanes = 16

// observerShare divides the configured memory: this part, in addition to Memory, is used for
// samples.
const observerShare = 16

// Gate is the deciding part of a node, made by New. Methods may be called concurrently, except
// where comments say otherwise.
type Gate struct {
	clock    window.Clock
	flush    time.Duration // interval between two exchanges with other nodes
	counter  *window.Counter
	flags    *mitigation.Table
	rules    atomic.Pointer[ruleSet]
	networks networks.Flags // set by hand
	lanes    [Lanes]Lane
	started  time.Time
	node     string
	turns    atomic.Uint64 // number of calls of Turn
	steps    health.ClockSteps
	ring     *health.Ring // nil: this node is the whole PoP
	// keys other nodes of the PoP know to be at their limits; nil without a ring
	usedUp     *usedup.Table
	reopened   chan reopened       // keys whose notices are to be taken back
	global     *global             // nil: there are no other PoPs
	overrides  override.Set        // given at this node and merged from others
	limits     override.Set        // likewise, of limits of keys
	policies   override.Set        // likewise, of policies
	applied    chan struct{}       // receives when policies change, here or elsewhere
	limitsDue  atomic.Bool         // some are to be put into effect
	roundRobin override.RoundRobin // over the overrides, where they do not fit into a message

	observer observer.Observer
	denials  *observer.Denials // nil: the past of keys is not kept
	misnamed lastMisnamed
	// nil until a rule of kind concurrency is in force; changes under mu only
	leases   *lease.Table
	siblings *tables.Siblings // nil until a rule has Siblings; changes under mu only
	// nil until a rule counts the clients of a block; changes under mu only
	blasts *tables.Blast
	single sync.Pool // of *Together, for requests of rules that are special

	mu      sync.Mutex        // held while rules change or overrides are applied
	extra   []mitigation.Rule // of AddRule
	killed  mitigation.Mode   // that all rules were put into; Enforce: none was
	reloads health.Reloads
	offsets health.Offsets // its words are written in each flush: apart from those of decisions
}

// Options are the arguments of New.
type Options struct {
	Node    string            // name of this node in the cluster
	Memory  int64             // bytes for counters and flags, above 0; 1/16 of it is for flags
	Past    int64             // bytes for the past of keys, 1 MiB or more; 0: it is not kept
	Rules   []mitigation.Rule // in force from the start, valid as package config checks them
	Flush   time.Duration     // interval between two exchanges with other nodes, above 0
	Servers int               // number of servers in the PoP's ring; 0: this node is the whole PoP
	Global  *Global           // connection to other PoPs; nil: there are none
	// the present, with a monotonic reading; the gate's clock runs from Start
	Start time.Time
}

// New returns a gate with the rules and the memory of o. New starts nothing: the caller runs Run,
// and the flusher or RunAlone where counts are shared.
func New(o Options) *Gate {
	flags := o.Memory / 16
	g := &Gate{
		clock:   window.StartClock(o.Start),
		flush:   o.Flush,
		flags:   mitigation.NewTable(int(flags)),
		started: o.Start,
		node:    o.Node, applied: make(chan struct{}, 1),
		single: sync.Pool{New: func() any { return new(Together) }},
	}
	if bytes := leaseBytes(&o); bytes > 0 {
		g.leases = lease.New(bytes)
	}
	if bytes := tables.SiblingsBytes(o.Memory, o.Rules); bytes > 0 {
		g.siblings = tables.NewSiblings(int(bytes))
	}
	if bytes := int(o.Memory - flags - leaseBytes(&o) - tables.SiblingsBytes(o.Memory,
		o.Rules)); o.Servers == 0 && o.Global == nil {
		g.counter = window.NewCounter(bytes)
	} else { // there are other nodes to share counts with
		g.counter = window.NewSharedCounter(bytes, o.Flush)
	}
	g.rules.Store(&ruleSet{byName: map[string]*rule{}})
	for n := range g.lanes {
		g.lanes[n].gate, g.lanes[n].number = g, n
	}
	if o.Servers > 0 {
		g.ring, g.usedUp = health.New(o.Servers, max(health.LostAfter, 5*o.Flush), g.Now()),
			new(usedup.Table)
		g.reopened = make(chan reopened, 64) // as many as a node writes notices
	}
	if o.Global != nil {
		g.global = &global{Global: *o.Global, gate: g, every: o.Flush}
	}
	if o.Past > 0 {
		g.denials = g.observer.Keep(int(o.Past), Lanes, g.clock.At(o.Start))
	}
	g.SetRules(o.Rules)
	g.observer.Start(int(o.Memory)/observerShare, g.clock.At(o.Start))
	g.reloads.Note(o.Start, nil)
	return g
}

// Now reads the gate's clock. A door reads the clock once for each batch.
func (g *Gate) Now() window.Instant { return g.clock.At(time.Now()) }

// Node returns the name of this node.
func (g *Gate) Node() string { return g.node }

// Lane returns lane n modulo Lanes; n is at least 0.
func (g *Gate) Lane(n int) *Lane { return &g.lanes[n%Lanes] }

// Rule returns the rule in force called name, or nil. The value is read only and never changes.
func (g *Gate) Rule(name []byte) *mitigation.Rule {
	if r := g.rules.Load().byName[string(name)]; r != nil {
		return &r.Rule
	}
	return nil
}

// Offered returns the cost offered by key under the rule called name in the trailing window, by
// this node's estimate; 0 for an unknown rule. For a suspect the figure is exact up to 1 above the
// limit.
func (g *Gate) Offered(now window.Instant, name, key []byte) int64 {
	r := g.rules.Load().byName[string(name)]
	if r == nil {
		return 0
	}
	return r.meter.Offered(now, r.meter.Index(key))
}

// SuspectSince returns the instant since which key has had an exact slot under the rule called
// name, and false if without a slot.
func (g *Gate) SuspectSince(name, key []byte) (window.Instant, bool) {
	r := g.rules.Load().byName[string(name)]
	if r == nil {
		return 0, false
	}
	return r.meter.Suspect(r.meter.Index(key))
}

// Stats returns the state of the counters. Cheap enough for every scrape.
func (g *Gate) Stats(now window.Instant) window.Stats { return g.counter.Stats(now) }
