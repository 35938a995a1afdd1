package global

import (
	"time"

	"github.com/headgate-dev/headgate/gossip"
)

// simRejoin is how long after a heal all nodes must be one cluster again: a round of joins, and two
// exchanges of state.
const simRejoin = 40 * time.Second

// felt is how long a fault has effects after it has ended: until reports, flags and windows have
// caught up.
const felt = 3 * time.Second

// harm begins and ends the faults that are due.
func (s *sim) harm() {
	changed := false
	for n := range s.plan.faults {
		f := &s.plan.faults[n]
		if f.at == s.at {
			s.event("begins: %v", f)
			s.begin(f)
			changed = true
		}
		if f.until == s.at && f.until > f.at {
			s.event("ends: %v", f)
			s.cease(f)
			changed = true
		}
	}
	if changed {
		s.wire()
	}
}

// begin makes f happen to nodes and rings.
func (s *sim) begin(f *simFault) {
	n := s.nodes[f.node]
	switch f.kind {
	case faultPause:
		if !n.down && !n.paused {
			n.paused = true
			s.net.Pause(n.addr)
		}
	case faultCrash:
		if !n.down {
			n.crash()
		}
	case faultClock:
		n.ahead += f.step
	case faultRingDeath, faultRingLoss, faultRingSlow, faultRingForget:
		s.rings[f.pop].set(f, true)
	}
}

// cease ends f.
func (s *sim) cease(f *simFault) {
	n := s.nodes[f.node]
	switch f.kind {
	case faultPause:
		n.paused = false
		s.net.Resume(n.addr)
	case faultCrash:
		if n.down {
			s.flights.Wait()
			n.paused = false
			if err := n.start(); err != nil {
				s.fail("start", "%v", err)
			}
			s.meet(n.number)
		}
	case faultClock:
		n.ahead -= f.step
		if n.answers() {
			n.edge.Turn(0, n.edge.Now(), n.wall())
			n.recall() // others repeat the records that were refused while the clock was wrong
		}
	case faultRingDeath, faultRingLoss, faultRingSlow, faultRingForget:
		s.rings[f.pop].set(f, false)
	}
}

// ongoing reports whether f is under way.
func (s *sim) ongoing(f *simFault) bool { return f.at <= s.at && s.at < f.until }

// wire cuts the network as the present faults have it.
func (s *sim) wire() {
	s.net.Heal()
	s.net.SetFault(s.plan.links)
	for n := range s.plan.faults {
		f := &s.plan.faults[n]
		if !s.ongoing(f) {
			continue
		}
		switch f.kind {
		case faultLinks:
			s.net.SetFault(f.links)
		case faultOneWay:
			s.net.Cut(s.nodes[f.node].addr, s.nodes[f.other].addr)
		case faultPartition:
			s.net.Partition(s.groups(f)...)
		}
	}
}

// groups returns the addresses of each side of a partition.
func (s *sim) groups(f *simFault) [][]string {
	groups := make([][]string, len(s.plan.pops)+2)
	for _, n := range s.nodes {
		side := f.sides[n.pop]
		groups[side] = append(groups[side], n.addr)
	}
	return groups
}

// meet makes node n know everybody, and everybody it, where memberlist is left out.
func (s *sim) meet(n int) {
	if s.plan.full {
		return
	}
	for other := range s.nodes {
		s.seated[n][other], s.seated[other][n] = true, true
		s.tellSeats(other)
	}
}

// parted reports whether a partition lies between two nodes.
func (s *sim) parted(a, b *simNode) bool {
	for n := range s.plan.faults {
		if f := &s.plan.faults[n]; f.kind == faultPartition && s.ongoing(f) &&
			f.sides[a.pop] != f.sides[b.pop] {
			return true
		}
	}
	return false
}

// seat stands in for memberlist's detection of failures: who is not reached for a while is seated
// no more.
func (s *sim) seat() {
	for a, n := range s.nodes {
		changed := false
		for b, other := range s.nodes {
			reached := a == b || n.answers() && other.answers() && !s.parted(n, other)
			if !n.answers() || reached == s.seated[a][b] {
				s.unreached[a][b] = 0
				continue
			}
			if s.unreached[a][b] == 0 {
				s.unreached[a][b] = s.at
			}
			wait := s.plan.detect
			if reached {
				wait = s.plan.rejoin
			}
			if s.at-s.unreached[a][b] >= wait {
				s.seated[a][b], s.unreached[a][b], changed = reached, 0, true
			}
		}
		if changed {
			s.tellSeats(a)
			s.event("%s seats %d", n.name, n.world.coordinator.Assignment().Members())
		}
	}
}

// tellSeats tells node a who sits.
func (s *sim) tellSeats(a int) {
	n := s.nodes[a]
	if n.down {
		return
	}
	var members []gossip.Member
	for b, is := range s.seated[a] {
		if is {
			members = append(members, gossip.Member{
				Name: s.nodes[b].name,
				Meta: gossip.Meta{PoP: s.popName(s.nodes[b].pop)},
			})
		}
	}
	n.world.changed(members)
}
