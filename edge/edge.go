// Package edge is one node: it takes a question at a door, answers it from the node's own memory, and
// lets people look inside.
//
//	datagram ──wire.ParseQuery──► Query ─┐
//	HTTP request ────────────────► Query ┴─► Lane.Decide(now, u, Query) ─► Decision ─► the door's own form
//
//	Decide:  rule   = rules[Query.Rule]          immutable, loaded once a request
//	         index  = meter.Index(key)           keyed hash, once
//	         hit    = meter.Offer(…)             counted as offered, before anything is judged
//	         effect = flags.Get(now, index)      lock-free
//	         ByFlag(effect, u)                   pure: allow by hand, block, ratio, or else the count says
//	         count  = meter.Admit(…)             what fits is decided and recorded in one step
//	         Judge(rule, why)                    pure: enforce or shadow
//
// Beside that path one loop (Run) does what time asks for; it is never waited for.
package edge

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Lanes is how many lanes a node has: a power of two above the readers of any usual machine.
const Lanes = 16

// Edge is one node. Its methods may be called concurrently.
type Edge struct {
	clock   window.Clock
	counter *window.Counter
	flags   *mitigation.Table
	rules   atomic.Pointer[ruleSet]
	lanes   [Lanes]Lane
	started time.Time
	node    string
	turns   atomic.Uint64 // of Run
	steps   clockSteps
	reach   *reach // of the ring; nil: this node is its PoP
	pop     *PoP   // nil until it joins
	world   *world // nil: there is no gossip
	words   words  // operators' words, from here and from other nodes
	keeper  *State // nil: nothing outlives the process

	observer observer

	mu      sync.Mutex // guards changes of configuration
	reloads reloads
}

// New returns a node that counts by cfg's rules in cfg's memory, a sixteenth of it for flags. start is
// the present, with its monotonic reading; the node's clock counts from there.
func New(cfg config.Config, start time.Time) (*Edge, error) {
	node := cfg.Node
	if node == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("edge: no node name configured: %w", err)
		}
		node = name
	}
	flags := cfg.Memory / 16
	e := &Edge{
		clock:   window.StartClock(start),
		counter: newCounter(cfg, int(cfg.Memory-flags)),
		flags:   mitigation.NewTable(int(flags)),
		started: start,
		node:    node,
	}
	e.rules.Store(&ruleSet{byName: map[string]*rule{}})
	for n := range e.lanes {
		e.lanes[n].edge, e.lanes[n].number = e, n
	}
	if len(cfg.Ring.Servers) > 0 {
		e.reach = newReach(len(cfg.Ring.Servers), max(lostAfter, 5*cfg.Ring.Flush), e.Now())
	}
	if !cfg.Gossip.Bind.IsZero() {
		e.world = &world{edge: e, every: cfg.Ring.Flush}
	}
	e.setRules(cfg.Rules)
	e.observer.start(int(cfg.Memory)/observerShare, e.clock.At(start))
	e.reloads.note(start, nil)
	return e, nil
}

// newCounter returns a counter that lives in bytes, and shares its counts if there is somebody to share with.
func newCounter(cfg config.Config, bytes int) *window.Counter {
	if len(cfg.Ring.Servers) == 0 && cfg.Gossip.Bind.IsZero() {
		return window.NewCounter(bytes)
	}
	return window.NewSharedCounter(bytes, cfg.Ring.Flush)
}

// Now reads the node's clock. Doors read it once a batch.
func (e *Edge) Now() window.Instant { return e.clock.At(time.Now()) }

// Node returns this node's name.
func (e *Edge) Node() string { return e.node }

// Lane returns lane n modulo Lanes. A lane may be shared, at the price of contention on its tallies.
func (e *Edge) Lane(n int) *Lane { return &e.lanes[n%Lanes] }

// Rule returns the rule called name, or nil. The value never changes.
func (e *Edge) Rule(name []byte) *mitigation.Rule {
	if r := e.rules.Load().byName[string(name)]; r != nil {
		return &r.Rule
	}
	return nil
}

// Offered returns this node's estimate of the cost key asked rule for in the trailing window, 0 for an
// unknown rule: exact for a suspect up to one above the limit.
func (e *Edge) Offered(now window.Instant, name, key []byte) int64 {
	r := e.rules.Load().byName[string(name)]
	if r == nil {
		return 0
	}
	return r.meter.Offered(now, r.meter.Index(key))
}

// SuspectSince returns since when key has had an exact slot under rule, and whether it has one.
func (e *Edge) SuspectSince(name, key []byte) (window.Instant, bool) {
	r := e.rules.Load().byName[string(name)]
	if r == nil {
		return 0, false
	}
	return r.meter.Suspect(r.meter.Index(key))
}

// Stats reads how the counting stands.
func (e *Edge) Stats(now window.Instant) window.Stats { return e.counter.Stats(now) }

// Decision is everything a door needs to answer one query.
type Decision struct {
	Answer wire.Answer
	Rule   *mitigation.Rule // nil when the rule is unknown
}
