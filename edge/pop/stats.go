package pop

import (
	"time"

	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// Stats is the state of a node's exchange with its PoP. Counts are since start and only grow.
// Who compares two nodes begins with Fingerprint: with other lists they do not find each other's
// counters.
type Stats struct {
	// of the list of servers, 16 hexadecimal digits; nodes sharing show the same
	Fingerprint string
	Every       time.Duration     // between two flushes
	Nodes       int               // with a heartbeat lately, this one included; at least 1
	Clock       health.ClockState // how the node's clock compares with the others'
	// by how much this node's wall clock is ahead of the PoP's clock; negative: behind
	Offset  time.Duration
	Skew    time.Duration // the same in whole seconds while Clock is ClockApart, else 0
	Servers []Server      // in the order of the configuration

	Flushes     uint64
	Early       uint64        // exchanges of a key that did not wait for the next flush
	Spent, Last time.Duration // on all flushes; on the last
	Failed      uint64        // exchanges of a key that failed
	Implausible uint64        // totals that could not be true
	Notices     stats         // of keys at their limits
}

// Server is the state of a node's exchange with a server of its ring.
type Server struct {
	// only Address, Up and LastError when the Tally keeps no statistics
	ring.ServerStats
	// share of the counters, relative to the other servers; at least 1
	Weight int
	// since its last answer that was believed; before the first, since start
	Silent time.Duration
	// silent for so long that decisions on its keys go by the failure mode
	Lost bool
}

// statser is a Tally keeping statistics, in the order of its servers. An interface of its own, so
// the Tallies of tests need none.
type statser interface {
	Stats() []ring.ServerStats
}

// Stats returns the state at now. It may be called concurrently with everything else. Each figure
// is read by itself: they need not be of a moment, and a flush never waits for a reader.
func (p *Flusher) Stats(now window.Instant) Stats {
	s := Stats{
		Fingerprint: p.options.Placement.Fingerprint(), Every: p.options.Every,
		Nodes: p.heartbeat.nodes(), Clock: p.gate.Ring().Clock(), Offset: p.heartbeat.offset(),
		Servers: p.servers(now),
		Flushes: p.flushes.Load(), Early: p.early.Load(), Spent: time.Duration(p.spent.Load()),
		Last:   time.Duration(p.last.Load()),
		Failed: p.failed.Load(), Implausible: p.implausible.Load(), Notices: p.board.Stats(),
	}
	if s.Clock == health.ClockApart {
		s.Skew = s.Offset.Round(time.Second)
	}
	return s
}

// servers returns the state of every server at now.
func (p *Flusher) servers(now window.Instant) []Server {
	servers := p.options.Placement.Servers()
	all := make([]Server, 0, len(servers))
	for n, at := range servers {
		s := Server{Weight: at.Weight}
		s.Silent, s.Lost = p.gate.Ring().Silent(n, now)
		_, s.Address = at.Network()
		s.Up = p.options.Tally.Up(n)
		all = append(all, s)
	}
	if t, ok := p.options.Tally.(statser); ok {
		for n, s := range t.Stats() {
			all[n].ServerStats = s
		}
	}
	for n := range all {
		// In place of the server's own last error: it answers, so only this says why its keys are
		// counted alone.
		if p.quarantines[n].at(now) {
			all[n].LastError = quarantined
		}
	}
	return all
}
