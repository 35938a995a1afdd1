package edge

import (
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Decision is everything a door needs to answer one query.
type Decision struct {
	Answer wire.Answer
	Rule   *mitigation.Rule // nil when the rule is unknown
}

// Lane is one reader's own way through an Edge.
type Lane struct{}

// Decide answers one query at now; u is 64 random bits. It never blocks, allocates or does I/O.
func (l *Lane) Decide(now window.Instant, u uint64, q wire.Query) Decision { return Decision{} }

// Edge is one node.
type Edge struct{}

// Lane returns reader n's lane; lanes may be shared, at the price of contention on their counters.
func (e *Edge) Lane(n int) *Lane { return &Lane{} }

// Now reads the node's clock.
func (e *Edge) Now() window.Instant { return 0 }
