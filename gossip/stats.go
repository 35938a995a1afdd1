package gossip

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
)

// Stats are a Node's gauges, and counters since Open. Written by Node.Stats; read by metrics and
// the admin pages.
type Stats struct {
	// PoPs are the members by PoP, sorted by PoP, this node included.
	PoPs []PoPStats

	// Datagrams and Streams are the network's traffic, framing and encryption included.
	Datagrams, Streams Flow
	// Packets are those of Send and Receive.
	Packets Flow
	// Messages are messages with records of Spread and ReceiveRecord.
	Messages Flow
	// States are those of State and Merge.
	States Flow

	// RecordsIn and RecordsOut count the records in Messages; RecordsOut counts every copy.
	RecordsIn, RecordsOut uint64
	// News counts the received records ReceiveRecord called news.
	News uint64
	// Dropped counts drops by the name of their guard.Reason; all reasons are present.
	Dropped map[string]uint64

	// Queued is the number of records being spread.
	Queued int
	// Waiting is the number of messages waiting for the callbacks.
	Waiting int
	// Sending is the number of packets waiting to be sent.
	Sending int

	// Joins counts successful exchanges with a seed or a remembered member.
	Joins uint64
	// Rejoins counts the Joins with a member dead before.
	Rejoins uint64
	// JoinErrors counts failed attempts.
	JoinErrors uint64
	// JoinError is the last error; "" after a success.
	JoinError string
	// JoinedAt is the time of the last success.
	JoinedAt time.Time

	// Conflicts counts sightings of a second node with the same name.
	Conflicts uint64
	// MetaErrors counts members whose metadata did not parse.
	MetaErrors uint64
	// Health is memberlist's health score: 0 is well, higher is slower.
	Health     int
	Mismatches Mismatches
	Lag        Lag
}

// Flow counts items in both directions, and their bytes: see guard.Flow.
type Flow = guard.Flow

// PoPStats counts the members of a PoP by state.
type PoPStats struct {
	PoP               string
	Alive, Dead, Left int
}

// Mismatches counts the living members differing from this node now, in properties to be shared.
type Mismatches struct {
	// Ring counts members of this PoP with another ring fingerprint: so the nodes count separately.
	Ring int
	// Rules counts members with another digest of the rules.
	Rules int
	// Wire counts members with another version of the payload.
	Wire int
}

// lagBounds are the upper bounds of Lag's buckets, in seconds.
var lagBounds = [...]float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Lag is a histogram of the age of records at their first arrival here. The age is the time in
// queues, in steps of 10 ms; without network time.
type Lag struct {
	Count   uint64
	Sum     time.Duration
	Buckets [len(lagBounds)]uint64 // cumulative; the bounds are LagBounds
}

// LagBounds returns the upper bounds of Lag's buckets, in seconds.
func LagBounds() []float64 { return append([]float64(nil), lagBounds[:]...) }

// add counts an age.
func (l *Lag) add(age time.Duration) {
	l.Count++
	l.Sum += age
	for i, bound := range lagBounds {
		if age.Seconds() <= bound {
			l.Buckets[i]++
		}
	}
}

// Stats returns the counters and gauges.
func (n *Node) Stats() Stats {
	s := Stats{
		PoPs:      n.roster.pops(),
		Datagrams: n.c.Datagrams.Flow(), Streams: n.c.Streams.Flow(),
		Packets: n.c.packets.Flow(), Messages: n.c.messages.Flow(), States: n.c.states.Flow(),
		RecordsIn: n.c.recordsIn.Load(), RecordsOut: n.c.recordsOut.Load(), News: n.c.news.Load(),
		Dropped: n.c.Dropped.ByName(),
		Queued:  n.queue.len(), Waiting: len(n.inbox.messages) + len(n.inbox.states),
		Sending: len(n.out),
		Joins:   n.c.joins.Load(), Rejoins: n.c.rejoins.Load(), JoinErrors: n.c.joinErrors.Load(),
		Conflicts: n.c.conflicts.Load(), MetaErrors: n.c.metaErrors.Load(),
		Mismatches: n.mismatches(),
	}
	s.Dropped[guard.Pruned.String()] += n.queue.pruned.Load()
	if ml := n.ml.Load(); ml != nil {
		s.Health = ml.GetHealthScore()
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	s.JoinError, s.JoinedAt, s.Lag = n.c.joinError, n.c.joinedAt, n.c.lag
	return s
}
