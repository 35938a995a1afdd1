package gossip

import "time"

// Stats is what a Node counted since it was opened. Counters never fall.
type Stats struct {
	PoPs []PoPStats // members by PoP, sorted by PoP; this node is among them

	Datagrams, Streams Flow // what went over the network, framing and encryption included
	Packets            Flow // of Send and Receive
	Messages           Flow // datagrams' worth of records, of Spread and Hear
	States             Flow // of State and Merge

	RecordsIn, RecordsOut uint64            // records in Messages; out counts every copy
	News                  uint64            // of RecordsIn: what Hear called news, and was passed on
	Dropped               map[string]uint64 // by Reason; all of them are there

	Queued  int // records being spread
	Waiting int // messages waiting for the callbacks
	Sending int // packets waiting to be sent

	Joins      uint64    // successful exchanges with a seed or a remembered member
	Rejoins    uint64    // of Joins: with a member that had been dead
	JoinErrors uint64    // failed ones
	JoinError  string    // the last one's text; "" when a join has worked since
	JoinedAt   time.Time // of the last that worked

	Conflicts  uint64 // sightings of another node with a name that is taken
	MetaErrors uint64 // members whose metadata did not parse
	Health     int    // memberlist's own: 0 is well, higher is slow to answer its probes
	Mismatches Mismatches
	Lag        Lag
}

// Flow counts things in both directions, and their bytes.
type Flow struct{ In, Out, InBytes, OutBytes uint64 }

// PoPStats counts the members of a PoP by state.
type PoPStats struct {
	PoP               string
	Alive, Dead, Left int
}

// Mismatches counts the living members that differ, now, from this node in what they should share.
type Mismatches struct {
	Ring  int // same PoP, another fingerprint of its ring: they count apart
	Rules int // another digest of the rules
	Wire  int // another version of what is sent
}

// lagBounds are the upper bounds of Lag's buckets, in seconds.
var lagBounds = [...]float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Lag says how long records had been under way when this node first heard them: a histogram over all that was news. It
// is the time they spent in queues on their way, in steps of 10 ms; the network's own time is not in it.
type Lag struct {
	Count   uint64
	Sum     time.Duration
	Buckets [len(lagBounds)]uint64 // records within the bound of the same index in LagBounds, cumulative
}

// LagBounds returns the upper bounds of Lag's buckets, in seconds.
func LagBounds() []float64 { return append([]float64(nil), lagBounds[:]...) }

func (l *Lag) add(age time.Duration) {
	l.Count++
	l.Sum += age
	for i, bound := range lagBounds {
		if age.Seconds() <= bound {
			l.Buckets[i]++
		}
	}
}

// Stats returns what was counted, and what is the case now.
func (n *Node) Stats() Stats {
	s := Stats{
		PoPs:      n.roster.pops(),
		Datagrams: n.c.datagrams.view(), Streams: n.c.streams.view(),
		Packets: n.c.packets.view(), Messages: n.c.messages.view(), States: n.c.states.view(),
		RecordsIn: n.c.recordsIn.Load(), RecordsOut: n.c.recordsOut.Load(), News: n.c.news.Load(),
		Dropped: n.c.drops(),
		Queued:  n.queue.len(), Waiting: len(n.inbox.messages) + len(n.inbox.states), Sending: len(n.out),
		Joins: n.c.joins.Load(), Rejoins: n.c.rejoins.Load(), JoinErrors: n.c.joinErrors.Load(),
		Conflicts: n.c.conflicts.Load(), MetaErrors: n.c.metaErrors.Load(),
		Mismatches: n.mismatches(),
	}
	s.Dropped[dropPruned.String()] += n.queue.pruned.Load()
	if ml := n.ml.Load(); ml != nil {
		s.Health = ml.GetHealthScore()
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	s.JoinError, s.JoinedAt, s.Lag = n.c.joinError, n.c.joinedAt, n.c.lag
	return s
}
