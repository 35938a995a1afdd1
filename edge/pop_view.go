package edge

import (
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// ClockState is what a node knows of its clock beside the other nodes'.
type ClockState uint8

// The states of a clock.
const (
	ClockComparing ClockState = iota // not known yet: this node does not share, and refuses for nobody else's counts
	ClockAgreed                      // the others' within a second, or there are no others
	ClockApart                       // not the others': this node counts alone
)

var clockNames = [...]string{ClockComparing: "comparing", ClockAgreed: "agreed", ClockApart: "apart"}

// String returns the word that /v1/cluster uses.
func (c ClockState) String() string { return clockNames[c] }

// PoPStats is how a node stands with the other nodes of its PoP. Counts are since start and only grow.
type PoPStats struct {
	Fingerprint string // of the list of servers, 16 hexadecimal digits; nodes that share show the same
	Every       time.Duration
	Nodes       int // that beat of late, this one included; at least 1
	Clock       ClockState
	Skew        time.Duration // while apart, by how much this node's clock is ahead, in whole seconds; negative: behind
	Servers     []PoPServer   // in the order of the configuration

	Flushes     uint64
	Spent, Last time.Duration // on all flushes; on the last one
	Failed      uint64        // exchanges of a key that came to nothing
	Implausible uint64        // totals that were not believed
}

// PoPServer is how a node stands with one server of its ring.
type PoPServer struct {
	ring.ServerStats // Address and Up only, when the Tally tells no more
	Weight           int
	Silent           time.Duration // since its last answer that was believed; before the first, since start
	Lost             bool          // so long that the PoP's view of its keys is lost
}

// teller is a Tally that keeps statistics, in the order of its servers.
type teller interface {
	Stats() []ring.ServerStats
}

// Stats reads how p stands at now. It may be called concurrently with everything else.
func (p *PoP) Stats(now window.Instant) PoPStats {
	s := PoPStats{
		Fingerprint: p.o.Placement.Fingerprint(), Every: p.o.Every,
		Nodes: p.beats.nodes(), Clock: p.edge.reach.clock(),
		Servers: p.servers(now),
		Flushes: p.flushes.Load(), Spent: time.Duration(p.spent.Load()), Last: time.Duration(p.last.Load()),
		Failed: p.failed.Load(), Implausible: p.lied.Load(),
	}
	if s.Clock == ClockApart {
		s.Skew = time.Duration(p.beats.skew.Load()) * time.Second
	}
	return s
}

// popStats reads how e stands at now with the other nodes of its PoP; false when there is no ring.
func (e *Edge) popStats(now window.Instant) (PoPStats, bool) {
	if e.pop == nil {
		return PoPStats{}, false
	}
	return e.pop.Stats(now), true
}

// doubted is shown as the last error of a server that answers what cannot be true.
const doubted = "its totals cannot be true: not believed for a while"

func (p *PoP) servers(now window.Instant) []PoPServer {
	all := make([]PoPServer, 0, len(p.edge.reach.heard))
	for n, at := range p.o.Placement.Servers() {
		silent := max(0, now.Sub(window.Instant(p.edge.reach.heard[n].Load())))
		s := PoPServer{Weight: at.Weight, Silent: silent, Lost: silent > p.edge.reach.after}
		_, s.Address = at.Network()
		s.Up = p.o.Tally.Up(n)
		all = append(all, s)
	}
	if t, ok := p.o.Tally.(teller); ok {
		for n, s := range t.Stats() {
			all[n].ServerStats = s
		}
	}
	for n := range all {
		if p.doubts[n].at(now) {
			all[n].LastError = doubted
		}
	}
	return all
}

// clock returns what is known of this node's clock.
func (r *reach) clock() ClockState {
	switch {
	case r.apart.Load():
		return ClockApart
	case r.shy.Load():
		return ClockComparing
	}
	return ClockAgreed
}

// serverName returns the address of a server of the ring; empty for one that is not known.
func (p *PoP) serverName(server int) string {
	servers := p.o.Placement.Servers()
	if server < 0 || server >= len(servers) {
		return ""
	}
	_, address := servers[server].Network()
	return address
}
