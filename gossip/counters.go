package gossip

import (
	"sync"
	"sync/atomic"
	"time"
)

// Reason is why something was dropped or refused.
type Reason uint8

// The reasons.
const (
	dropOversize  Reason = iota // longer than what is taken, coming or going
	dropUnknown                 // Send to somebody who is not a member
	dropSendQueue               // Send: too much waits already
	dropSendError               // the socket refused it
	dropPruned                  // Spread: too many records wait, this one was sent most often
	dropInbox                   // the callbacks are too slow
	dropMalformed               // a message or record that does not parse
	dropForeign                 // from outside the allowed networks
	dropLabel                   // a packet of another cluster, or of nobody's
	dropKey                     // a packet or stream not encrypted with one of our keys
	dropBacklog                 // memberlist is behind with packets
	dropAccepts                 // too many streams in a second
	dropStreams                 // too many streams open
	dropStream                  // a stream that failed: not encrypted, cut off, too long, too slow
	dropMember                  // a member refused: its name, or too many
	dropLog                     // log lines beyond the limit
	reasons
)

var reasonNames = [reasons]string{
	"oversize", "unknown_member", "send_queue", "send_error", "pruned", "inbox", "malformed", "foreign", "label", "key",
	"backlog", "accepts", "streams", "stream", "member", "log",
}

// String returns the reason as a metric's label value, a lower-case word.
func (r Reason) String() string {
	if r >= reasons {
		return "unknown"
	}
	return reasonNames[r]
}

// flow counts things and their bytes, both ways.
type flow struct{ in, out, inBytes, outBytes atomic.Uint64 }

func (f *flow) came(bytes int) { f.in.Add(1); f.inBytes.Add(uint64(bytes)) }
func (f *flow) went(bytes int) { f.out.Add(1); f.outBytes.Add(uint64(bytes)) }

func (f *flow) view() Flow {
	return Flow{In: f.in.Load(), Out: f.out.Load(), InBytes: f.inBytes.Load(), OutBytes: f.outBytes.Load()}
}

// counters is everything this room counts. Safe for use by several goroutines.
type counters struct {
	datagrams, streams          flow // what the network saw, framing and encryption included
	packets, messages, states   flow // what it was for
	recordsIn, recordsOut, news atomic.Uint64
	joins, rejoins, joinErrors  atomic.Uint64
	conflicts, metaErrors       atomic.Uint64
	dropped                     [reasons]atomic.Uint64

	mu        sync.Mutex // protects what follows
	joinError string
	joinedAt  time.Time
	lag       Lag
}

func (c *counters) drop(r Reason) { c.dropped[r].Add(1) }

func (c *counters) drops() map[string]uint64 {
	m := make(map[string]uint64, reasons)
	for r := range reasons {
		m[r.String()] = c.dropped[r].Load()
	}
	return m
}

// failedJoin notes the last error of a join that reached nobody, joined that one did.
func (c *counters) failedJoin(err error) {
	c.joinErrors.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joinError = err.Error()
}

func (c *counters) joined(now time.Time) {
	c.joins.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joinError, c.joinedAt = "", now
}

// heard notes how old news was when it arrived.
func (c *counters) heard(age time.Duration) {
	c.news.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag.add(age)
}
