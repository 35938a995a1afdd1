package gossip

import (
	"sync"
	"sync/atomic"
	"time"
)

// Reason is the reason for dropping or refusing something. Metrics use its name.
type Reason uint8

// The reasons.
const (
	// dropOversize is a message longer than its bound, in either direction.
	dropOversize Reason = iota
	// dropUnknown is a Send to a stranger.
	dropUnknown
	// dropSendQueue is a Send while the queue is full.
	dropSendQueue
	// dropSendError is a Send on which the socket failed.
	dropSendError
	// dropPruned is the record sent most often, pruned by a Spread while the queue is full.
	dropPruned
	// dropInbox is a message behind a full queue: the callbacks are too slow.
	dropInbox
	// dropMalformed is a message or record that does not parse.
	dropMalformed
	// dropForeign is traffic from outside the allowed networks.
	dropForeign
	// dropLabel is a packet with another cluster's label, or none.
	dropLabel
	// dropKey is a packet or stream that is not encrypted with one of the cluster's keys.
	dropKey
	// dropBacklog is a packet behind memberlist's full queue.
	dropBacklog
	// dropAccepts is a stream beyond maxAccepts in a second.
	dropAccepts
	// dropStreams is a stream beyond the open ones that are allowed.
	dropStreams
	// dropStream is a failed stream: not encrypted, truncated, too long, too slow.
	dropStream
	// dropMember is a refused member: an invalid name, or one too many.
	dropMember
	// dropLog is a log line beyond the limit.
	dropLog
	// dropCompressed is a compressed packet of a member.
	dropCompressed
	reasons
)

var reasonNames = [reasons]string{
	"oversize", "unknown_member", "send_queue", "send_error", "pruned", "inbox", "malformed", "foreign", "label", "key",
	"backlog", "accepts", "streams", "stream", "member", "log", "compressed",
}

// String returns the reason's label value in metrics, a lower-case word.
func (r Reason) String() string {
	if r >= reasons {
		return "unknown"
	}
	return reasonNames[r]
}

// flow counts items and their bytes in both directions.
type flow struct{ in, out, inBytes, outBytes atomic.Uint64 }

func (f *flow) came(bytes int) { f.in.Add(1); f.inBytes.Add(uint64(bytes)) }
func (f *flow) went(bytes int) { f.out.Add(1); f.outBytes.Add(uint64(bytes)) }

// view returns the counters as a value.
func (f *flow) view() Flow {
	return Flow{In: f.in.Load(), Out: f.out.Load(), InBytes: f.inBytes.Load(), OutBytes: f.outBytes.Load()}
}

// counters are all counters of this package. Safe for concurrent use.
type counters struct {
	// datagrams and streams count the network's traffic, framing and encryption included.
	datagrams, streams flow
	// packets, messages and states count its payload: of Send, Spread and State.
	packets, messages, states flow
	// recordsIn, recordsOut and news count records; news are those that ReceiveRecord called so.
	recordsIn, recordsOut, news atomic.Uint64
	// joins, rejoins and joinErrors count attempts to join.
	joins, rejoins, joinErrors atomic.Uint64
	// conflicts and metaErrors count members with a name that is taken, or with unreadable
	// metadata.
	conflicts, metaErrors atomic.Uint64
	dropped               [reasons]atomic.Uint64

	mu        sync.Mutex // protects what follows
	joinError string
	joinedAt  time.Time
	lag       Lag
}

// drop counts one drop.
func (c *counters) drop(r Reason) { c.dropped[r].Add(1) }

// drops returns all drop counters by reason name.
func (c *counters) drops() map[string]uint64 {
	m := make(map[string]uint64, reasons)
	for r := range reasons {
		m[r.String()] = c.dropped[r].Load()
	}
	return m
}

// failedJoin records a failed join and its error.
func (c *counters) failedJoin(err error) {
	c.joinErrors.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joinError = err.Error()
}

// joined records a successful join.
func (c *counters) joined(now time.Time) {
	c.joins.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joinError, c.joinedAt = "", now
}

// recordNews records the age of news at its arrival.
func (c *counters) recordNews(age time.Duration) {
	c.news.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag.add(age)
}
