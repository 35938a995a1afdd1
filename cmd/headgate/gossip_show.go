package main

import (
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/council"
	"github.com/headgate-dev/headgate/window"
)

// stats puts what gossip and the council counted into edge's words, for people and metrics.
func (w *world) stats() edge.WorldStats {
	w.mu.Lock()
	c := w.council.Stats()
	w.mu.Unlock()
	g := w.node.Stats()
	s := edge.WorldStats{
		Members:    w.members(),
		PoPs:       make([]edge.WorldPoP, 0, len(g.PoPs)),
		Mismatches: edge.WorldMismatches(g.Mismatches),
		Bytes:      edge.WorldFlow{In: g.Datagrams.InBytes + g.Streams.InBytes, Out: g.Datagrams.OutBytes + g.Streams.OutBytes},
		Packets:    edge.WorldFlow{In: g.Datagrams.In + g.Streams.In, Out: g.Datagrams.Out + g.Streams.Out},
		Dropped:    g.Dropped,
		Queue:      edge.WorldQueue{Spreading: g.Queued, Waiting: g.Waiting, Sending: g.Sending},
		Lag:        lagOf(g.Lag),
		Joins:      g.Joins, Rejoins: g.Rejoins, JoinErrors: g.JoinErrors, JoinError: g.JoinError,
		Conflicts: g.Conflicts, Health: g.Health,
	}
	for _, p := range g.PoPs {
		s.PoPs = append(s.PoPs, edge.WorldPoP(p))
	}
	addCouncil(&s, &c)
	return s
}

// addCouncil adds what the council counted.
func addCouncil(s *edge.WorldStats, c *council.Stats) {
	s.Records = make(map[string]edge.WorldFlow, council.Kinds)
	for kind := 1; kind < council.Kinds; kind++ {
		s.Records[council.KindName(kind)] = edge.WorldFlow{In: c.RecordsIn[kind], Out: c.RecordsOut[kind]}
	}
	s.Rejected = make(map[string]uint64, len(c.Rejected))
	for why, n := range c.Rejected {
		s.Rejected[council.Reject(why).String()] = n
	}
	s.Keys = edge.WorldKeys{
		Measured: c.Locals, Reported: c.Desks, Owned: c.Books, Woken: c.Wakes, Shed: c.Shed, Guarded: c.Guarded,
	}
	s.MostDebt, s.Pressed, s.Deferred, s.Full = c.MostDebt, c.Pressed, c.Deferred, c.Full
}

// members are the nodes that gossip knows.
func (w *world) members() []edge.WorldMember {
	members := w.node.Members()
	all := make([]edge.WorldMember, len(members))
	for n, m := range members {
		all[n] = edge.WorldMember{
			Name: m.Name, PoP: m.PoP, Address: m.Addr, State: m.State.String(), Since: m.Since.UTC(),
			Version: m.Version, Wire: int(m.Wire), Ring: m.Ring, Rules: m.Rules, Self: m.Name == w.edge.Node(),
		}
	}
	return all
}

func lagOf(l gossip.Lag) edge.WorldLag {
	lag := edge.WorldLag{Count: l.Count, Sum: l.Sum}
	for n, bound := range gossip.LagBounds() {
		lag.Buckets = append(lag.Buckets, edge.WorldBucket{Within: bound, Count: l.Buckets[n]})
	}
	return lag
}

// standing says how a key stands over all PoPs.
func (w *world) standing(now window.Instant, rule string, key []byte) edge.WorldStanding {
	w.mu.Lock()
	s := w.council.Explain(now, rule, key)
	w.mu.Unlock()
	return edge.WorldStanding{
		View: s.View, Viewed: s.Viewed, Rate: s.Rate, Ratio: s.Ratio, Unheard: s.Unheard,
		Owner: s.Owner, Standby: s.Standby, Reporter: s.Reporter, Alone: s.Alone, Woken: s.Woken, Shares: s.Shares,
	}
}
