package global

import (
	"maps"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// View returns how the node stands with the other PoPs, for people and metrics.
func (l *Link) View() *api.GossipView {
	connected, lost, _ := l.gate.GlobalState()
	v := &api.GossipView{Connected: connected, Lost: lost, GossipStats: l.stats()}
	v.Lag = v.GossipStats.Lag.View()
	return v
}

// stats returns the figures of gossip and of the coordinator. Counters are since start; bytes and
// packets are of datagrams and streams together, as memberlist hands them over.
func (l *Link) stats() api.GossipStats {
	l.mu.Lock()
	c, clocks := l.coordinator.Stats(), l.coordinator.Clocks(l.gate.Now())
	l.mu.Unlock()
	g := l.transport.Stats()
	s := api.GossipStats{
		Members: l.members(&clocks),
		PoPs:    make([]api.PoPMembers, 0, len(g.PoPs)),
		Mismatches: api.Mismatches{
			Ring: g.Mismatches.Ring, Rules: g.Mismatches.Rules,
			Wire: g.Mismatches.Wire, Clock: len(clocks.Off),
		},
		Bytes: api.Flow{
			In:  g.Datagrams.InBytes + g.Streams.InBytes,
			Out: g.Datagrams.OutBytes + g.Streams.OutBytes,
		},
		Packets: api.Flow{
			In:  g.Datagrams.In + g.Streams.In,
			Out: g.Datagrams.Out + g.Streams.Out,
		},
		Dropped: l.dropped(g.Dropped),
		Queue:   api.Queue{Spreading: g.Queued, Waiting: g.Waiting, Sending: g.Sending},
		Lag:     lagOf(g.Lag),
		Joins:   g.Joins, Rejoins: g.Rejoins, JoinErrors: g.JoinErrors, JoinError: g.JoinError,
		Conflicts: g.Conflicts, Health: g.Health,
	}
	for _, p := range g.PoPs {
		s.PoPs = append(s.PoPs, api.PoPMembers(p))
	}
	addCoordinator(&s, &c)
	return s
}

// dropped returns the drops of gossip, by reason, and those of this room.
func (l *Link) dropped(by map[string]uint64) map[string]uint64 {
	all := make(map[string]uint64, len(by)+2)
	maps.Copy(all, by)
	all["state_room"], all["kind"] = l.unfit.Load(), l.unread.Load()
	return all
}

// addCoordinator adds the figures of the coordinator to s: records by kind, rejections by reason,
// and the numbers of keys by role. Both lists are as long as the coordinator's, so their labels are
// bounded.
func addCoordinator(s *api.GossipStats, c *coordinator.Stats) {
	s.Records = make(map[string]api.Flow, coordinator.Kinds)
	for kind := 1; kind < coordinator.Kinds; kind++ {
		if name := coordinator.KindName(kind); name != "" {
			s.Records[name] = api.Flow{In: c.RecordsIn[kind], Out: c.RecordsOut[kind]}
		}
	}
	s.Rejected = make(map[string]uint64, len(c.Rejected))
	for why, n := range c.Rejected {
		s.Rejected[coordinator.Reject(why).String()] = n
	}
	s.Keys = api.ControlKeys{
		Measured: c.Locals, Reported: c.ReporterKeys, Owned: c.OwnedKeys,
		Shed: c.Shed, Guarded: c.Guarded, Bytes: c.Bytes, Capacity: c.Capacity,
	}
	s.Counts = api.CountsStats{
		Records: api.Flow{In: c.CountsIn, Out: c.CountsOut}, Waiting: c.CountsQueue,
		Dropped:   c.RelaysDropped,
		Displaced: c.CountsDisplaced, Pressure: c.CountsPressure,
	}
	s.MostDebt, s.Overloaded, s.Deferred, s.Full = c.MostDebt, c.Overloaded, c.Deferred, c.Full
	s.Origins = c.Origins
}

// members returns the nodes that gossip knows, with their clocks.
func (l *Link) members(clocks *coordinator.Clocks) []api.Member {
	members := l.transport.Members()
	all := make([]api.Member, len(members))
	for n, m := range members {
		all[n] = api.Member{
			Name: m.Name, PoP: m.PoP, Address: m.Addr, State: m.State.String(),
			Since:   m.Since.UTC(),
			Version: m.Version, Wire: int(m.Wire), Ring: m.Ring, Rules: m.Rules,
			Self: m.Name == l.gate.Node(), Limits: m.Limits,
			Ahead: clocks.Off[m.Name].Seconds(), Offset: clocks.Leads[m.Name].Milliseconds(),
			Dashboard: DashboardOf(m.Admin, m.Addr),
		}
	}
	return all
}

// lagOf returns the histogram of gossip as the API has it.
func lagOf(l gossip.Lag) api.Lag {
	lag := api.Lag{Count: l.Count, Sum: l.Sum}
	for n, bound := range gossip.LagBounds() {
		lag.Buckets = append(lag.Buckets, api.LagBucket{Within: bound, Count: l.Buckets[n]})
	}
	return lag
}

// Standing returns how a key stands over all PoPs.
func (l *Link) Standing(now window.Instant, rule string, key []byte) control.Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.coordinator.Explain(now, rule, key)
}

// changed assigns the shards anew among the living members. All members that see the same living
// members and have the same first key compute the same assignment, without a message.
func (l *Link) changed(members []gossip.Member) {
	var living []coordinator.Member
	for _, m := range members {
		if m.State == gossip.Alive {
			living = append(living, coordinator.Member{Name: m.Name, PoP: m.PoP})
		}
	}
	l.mu.Lock()
	key := l.key
	l.mu.Unlock()
	assignment := coordinator.NewAssignment(key, living)
	l.mu.Lock()
	l.coordinator.SetAssignment(assignment)
	l.mu.Unlock()
	l.alive.Store(int32(len(living) - 1)) // far fewer than 2^31
	l.look()
}
