package pop

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/usedup"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// A board carries, from node to node of a PoP, which keys are at their limits. Nodes that
// have not met such a key put it into their usedup.Table.
//
//	gate.CollectFilled ─► board.Add ─► memcached ─► the other nodes' boards ─► usedup.Table
//
// A board is made of counters, like all that a ring holds: no operation but the addition is needed,
// and proxies need not know of it. Each server has a number, the count of notices so far, and three
// counters a notice:
//
//	number      +n by a node with n notices: its sum says which numbers they have
//	digest k    64 bits of the key's digest
//	facts k     32 further bits of it, and for how many milliseconds the key is at its limit
//	version k   the wall time at which the writer read the counts, milliseconds
//
// Nodes read the number at every exchange, and the counters of new notices right after it. A reader
// takes a notice to have been written when it read the number before: clocks do not matter then,
// and no key is held longer than the counts that filled it are in the window.
//
// A key that has room again, because cost was taken back, has a notice with no time left. Of two
// notices of a key the newer version stands. Its writer knows the older and writes a later version,
// whatever the clocks say.
//
// Given up: notices of less than two flushes are not written; a node writes mostWritten of them and
// reads mostRead of a server in an exchange, and the rest is dropped and counted.

const (
	// MostWritten is the most notices that a node writes between two flushes. The rest is counted
	// as dropped.
	mostWritten = 64
	// MostRead is the most notices that a node reads of a server in an exchange. The rest is
	// counted as dropped.
	mostRead = 256
	// mostAgain is the most notices that are read once more because they were not written yet.
	mostAgain = 64
	// numberLife and noticeLife are how long the counters live, seconds. A number that expired
	// begins at 1 again.
	numberLife, noticeLife = 24 * 3600, 10
	// variant keeps the counters apart from those of rules; the server's number is added.
	variant = uint32(1)<<31 | uint32(1)<<30
	// checkShift is where the further bits of a digest are in the facts of a notice, and written
	// the bit that all facts have: a notice may have no time left.
	checkShift, written = 32, 1 << 31
	// mostAhead is how far a version may be ahead of this node's clock, milliseconds.
	mostAhead = 60_000
)

// The names of the counters are part of the exchange between versions of headgate.
const (
	numberName  = "at limit"
	digestName  = "at limit digest"
	factsName   = "at limit facts"
	versionName = "at limit version"
)

// notice says that a key is at its limit until then; 0: that the key has room again.
type notice struct {
	usedup.Name
	Until   window.Instant
	Version uint64
}

// stats counts notices, since start.
type stats struct {
	Sent, Received uint64
	Dropped        uint64 // beyond a bound, or by a server that did not answer
}

// options are the parts of the node and of its PoP a Board needs.
type options struct {
	Table   *usedup.Table
	Digest  *ring.Digester // of the counters' names
	Every   time.Duration  // between two flushes
	Servers int            // of the ring
	Up      func(server int) bool
	Do      func(ctx context.Context, ops []ring.Op) // exchanges ops with the ring
}

// board exchanges notices with the other nodes, at every exchange of the node:
//
//	Collect ─► the exchange ─► Merge ─► Add … ─► Exchange
//
// Exchange makes up to three exchanges of its own: a read of new notices, and two to write some. It
// makes none when there are none. A Board belongs to a single goroutine, but for Stats.
type board struct {
	o       options
	servers []reader
	reads   []read   // of new notices
	again   []read   // of notices that were not there yet
	notes   []notice // to write
	clock   uint64   // wall time at the begin of the exchange, milliseconds
	ops     []ring.Op

	sent, received, dropped atomic.Uint64
}

// reader is how far a node has read the notices of a server.
type reader struct {
	key    ring.Key       // of the number
	known  uint64         // the number when it was read last
	looked window.Instant // when that was; 0: never
	fell   window.Instant // when the number fell last; 0: never
	quiet  window.Instant // until when no notice of the server is read
	want   uint64         // notices of this node that get a number on it now
}

// read is a notice to read.
type read struct {
	server int
	number uint64
	since  window.Instant // it was written after that
	again  bool           // it was read before, and was not there
}

// newBoard returns a board without notices.
func newBoard(o options) *board {
	b := &board{o: o, servers: make([]reader, o.Servers)}
	b.Rekey(o.Digest)
	return b
}

// Rekey names the counters by digest from now on.
func (b *board) Rekey(digest *ring.Digester) {
	b.o.Digest, b.again = digest, b.again[:0]
	for n := range b.servers {
		b.servers[n] = reader{}
		b.servers[n].key = b.op(nil, numberName, 0, ring.Op{Server: n})[0].Key
	}
}

// stats returns the counts of notices. It may be called concurrently with everything else.
func (b *board) Stats() stats {
	return stats{Sent: b.sent.Load(), Received: b.received.Load(), Dropped: b.dropped.Load()}
}

// Collect appends the reads of all numbers to ops.
func (b *board) Collect(ops []ring.Op) []ring.Op {
	for n := range b.servers {
		ops = append(ops, ring.Op{Key: b.servers[n].key, Server: n})
	}
	return ops
}

// op appends op on the counter with that name and number.
func (b *board) op(ops []ring.Op, name string, number uint64, op ring.Op) []ring.Op {
	// a few hundred
	b.o.Digest.Key(&op.Key, ring.Counter{
		Variant: variant | uint32(op.Server), Window: time.Second,
		Client: []byte(name), Period: number,
	})
	return append(ops, op)
}

// Merge takes in the answers to Collect at now.
func (b *board) Merge(now window.Instant, ops []ring.Op) {
	b.reads, b.again = append(b.reads[:0], b.again...), b.again[:0]
	for n := range ops {
		if ops[n].Err == nil {
			b.mergeNumber(now, n, ops[n].Total)
		}
	}
}

// unsteady is the time within which a number that falls twice is taken for a fault of its server,
// and for which the notices of such a server are left out: each fall would have many of them read.
const unsteady = time.Minute

// mergeNumber takes in the number of a server. At the first look the notices so far are left out:
// most have expired.
func (b *board) mergeNumber(now window.Instant, server int, number uint64) {
	s := &b.servers[server]
	since := s.looked
	if s.looked = now; since == 0 {
		s.known = number
		return
	}
	if number < s.known {
		if s.fell != 0 && now.Sub(s.fell) < unsteady {
			s.quiet = now.Add(unsteady)
		}
		s.known, s.fell = 0, now // the server forgot the number, which began anew
	}
	if now < s.quiet {
		b.dropped.Add(1)
		s.known = number
	}
	if more := number - s.known; more > mostRead {
		b.dropped.Add(more - mostRead)
		s.known = number - mostRead
	}
	for s.known < number {
		s.known++
		b.reads = append(b.reads, read{server: server, number: s.known, since: since})
	}
}

// Add has n written by the next Exchange, unless it is short or other nodes know it.
func (b *board) Add(now window.Instant, n notice) {
	n.Version = max(n.Version, b.clock, b.o.Table.Version(n.Name)+1)
	switch {
	case !b.isNews(now, &n):
	case len(b.notes) >= mostWritten:
		b.dropped.Add(1)
	default:
		b.notes = append(b.notes, n)
	}
}

// isNews reports whether the others should know n: it is longer than their knowledge by two
// flushes.
func (b *board) isNews(now window.Instant, n *notice) bool {
	return n.Until == 0 || n.Until.Sub(max(now, b.o.Table.Until(now, n.Name))) >= 2*b.o.Every
}

// Exchange reads the new notices and writes those of Add. now returns the present.
func (b *board) Exchange(ctx context.Context, now func() window.Instant) {
	if len(b.reads) > 0 {
		b.read(ctx)
	}
	if b.dropKnown(now()); len(b.notes) > 0 {
		b.write(ctx, now)
	}
}

// read reads the new notices.
func (b *board) read(ctx context.Context) {
	b.ops = b.ops[:0]
	for _, r := range b.reads {
		b.ops = b.op(b.ops, digestName, r.number, ring.Op{Server: r.server})
		b.ops = b.op(b.ops, factsName, r.number, ring.Op{Server: r.server})
		b.ops = b.op(b.ops, versionName, r.number, ring.Op{Server: r.server})
	}
	b.o.Do(ctx, b.ops)
	for n, r := range b.reads {
		b.mergeRead(r, b.ops[3*n:3*n+3])
	}
	b.reads = b.reads[:0]
}

// mergeRead takes in the answers about the digest, the facts and the version of a notice.
func (b *board) mergeRead(r read, answers []ring.Op) {
	digest, facts, version := &answers[0], &answers[1], &answers[2]
	there := digest.Total != 0 && facts.Total != 0 && version.Total != 0
	switch {
	case digest.Err != nil || facts.Err != nil || version.Err != nil,
		!there && (r.again || len(b.again) >= mostAgain),
		there && version.Total > b.clock+mostAhead:
		b.dropped.Add(1)
	case !there: // its node has the number, and writes it now
		r.again = true
		b.again = append(b.again, r)
	default:
		b.received.Add(1)
		left := time.Duration(facts.Total&(written-1)) * time.Millisecond
		// the upper half
		name := usedup.Name{Digest: digest.Total, Check: uint32(facts.Total >> checkShift)}
		b.o.Table.Put(name, r.since.Add(left), version.Total)
	}
}

// dropKnown leaves out the notices that other nodes have written meanwhile.
func (b *board) dropKnown(now window.Instant) {
	left := b.notes[:0]
	for _, n := range b.notes {
		if b.isNews(now, &n) {
			left = append(left, n)
		}
	}
	b.notes = left
}
