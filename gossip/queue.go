package gossip

import (
	"sync/atomic"

	"github.com/hashicorp/memberlist"
)

// maxQueued bounds the records waiting to be spread. Packets carry about a hundred new records a
// second through a cluster of 30, so a longer queue would only hold older news.
const maxQueued = 4096

// retransmit times ⌈log10(nodes+1)⌉ is the number of times each node sends a record. At 10 % loss
// and memberlist's usual 4, a record of 100 takes 4 s to reach all of 6 nodes, because of the wait
// for a push/pull. With 6 the time is 0.7 s, for half as many packets again.
const retransmit = 6

// queue holds the records this node is spreading, the newest of each name. Safe for concurrent use.
type queue struct {
	q      memberlist.TransmitLimitedQueue
	pruned atomic.Uint64
}

// push adds a record in place of an older one of the same name. Beyond maxQueued it drops the
// record sent most often. r.Age holds the clock's reading at which the record's age was 0; pack
// turns it into an age.
func (q *queue) push(r record) {
	q.q.QueueBroadcast(&named{
		id:      r.ID,
		encoded: appendRecord(make([]byte, 0, recordBytes+len(r.Body)), r),
	})
	// Prune panics on an unused queue, hence only where needed.
	if over := q.q.NumQueued() - maxQueued; over > 0 {
		q.q.Prune(maxQueued)
		q.pruned.Add(uint64(over))
	}
}

// pack returns a message of at most limit bytes with as many records as possible, freshest first,
// or nil, and the number of records. now is the clock's reading.
func (q *queue) pack(limit int, now uint16) (message []byte, records int) {
	list := q.q.GetBroadcasts(0, limit-headBytes)
	if len(list) == 0 {
		return nil, 0
	}
	message = appendHead(make([]byte, 0, limit), kindRecords)
	for _, encoded := range list {
		at := len(message)
		message = append(message, encoded...)
		setAge(message[at:], now)
	}
	return message, len(list)
}

// len returns the number of waiting records.
func (q *queue) len() int { return q.q.NumQueued() }

// named is a record in memberlist's queue.
type named struct {
	id      id
	encoded []byte
}

var _ memberlist.NamedBroadcast = (*named)(nil)

// Name implements memberlist.NamedBroadcast.
func (n *named) Name() string { return string(n.id[:]) }

// Message implements memberlist.Broadcast.
func (n *named) Message() []byte { return n.encoded }

// Finished implements memberlist.Broadcast.
func (n *named) Finished() {}

// Invalidates implements memberlist.Broadcast.
func (n *named) Invalidates(other memberlist.Broadcast) bool {
	o, ok := other.(*named)
	return ok && o.id == n.id
}
