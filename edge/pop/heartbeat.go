package pop

import (
	"hash/fnv"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// The nodes of a PoP number the periods of a window by the PoP's clock, which is the median of
// their wall clocks: see clocks. A node beats by that clock, with a counter for each second on
// every server:
//
//	beat of second s +1 by each node that shares, while the PoP's clock shows s;
//	    it lives beatLife seconds
//
// The beat of two seconds ago is the number of nodes, also of those of an earlier version, which
// beat by their wall clocks.
const (
	beatEvery = time.Second
	beatLife  = 250  // seconds; nodes of earlier versions look for beats of 240
	beatDone  = 2    // seconds after which every node has beaten
	mostNodes = 1000 // of a PoP: a server that claims more is not believed
	// most is the largest offset of a clock that is corrected.
	mostOffset = 60 * time.Second
	// between two looks, and up to half more by node
	lookCheck = 10 * time.Second
	lookAgain = 2 * time.Second // after a look that found a change, or nothing
)

// The names of the heartbeat's counters are part of the exchange between versions of headgate.
// beatVariant keeps them apart from the counters of rules.
const (
	beatVariant = uint32(1) << 31
	beatName    = "beat"
	clockName   = "clock"
)

// heartbeat keeps the PoP's clock, and counts the nodes. It belongs to the flusher's goroutine,
// except for its atomic fields.
type heartbeat struct {
	pop     *Flusher
	servers int
	clocks  clocks
	last    int64          // second of the last beat, Unix time
	next    window.Instant // of the next look; 0: at once
	jitter  time.Duration  // added to lookCheck, so the nodes look at different times
	raw     time.Duration  // from the node's own clock to its wall clock, to notice steps
	flushed bool           // raw is known
	world   time.Duration  // the offset from the clock of all PoPs, which this node puts forward
	joined  bool           // this node shares
	totals  []int64        // of a counter, by server; memory for median
	looksAt []int          // the servers of the lanes; memory for lookAt

	count  atomic.Int64 // nodes, this node included
	skewed atomic.Bool  // the wall clock is off by more than mostOffset
}

func newHeartbeat(p *Flusher, servers int) *heartbeat {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.gate.Node())) // never fails
	b := &heartbeat{
		pop: p, servers: servers,
		jitter: time.Duration(h.Sum32()%5000) * time.Millisecond,
	}
	b.clocks.turn, b.clocks.every = h.Sum32(), p.options.Every
	b.count.Store(1)
	return b
}

// state returns how this node's clock compares with the others'.
func (b *heartbeat) state() health.ClockState {
	switch {
	case b.skewed.Load():
		return health.ClockApart
	case b.joined:
		return health.ClockAgreed
	}
	return health.ClockComparing
}

// nodes returns how many nodes share, this node included.
func (b *heartbeat) nodes() int { return int(b.count.Load()) }

// offset returns by how much the wall clock is ahead of the PoP's clock.
func (b *heartbeat) offset() time.Duration { return b.pop.gate.Offsets().Applied() }

// noticeStep follows a step of the wall clock since the last flush: the PoP's clock has made none,
// as far as this node knows, so it goes on, and a look begins. raw is the distance from the node's
// own clock to the wall clock.
func (b *heartbeat) noticeStep(raw time.Duration) {
	offsets := b.pop.gate.Offsets()
	if b.stepped(raw) {
		offsets.Apply(b.offset() + raw - b.raw)
		b.next, b.clocks.began = 0, 0
	}
	if world := offsets.World(); world != b.world {
		b.world, b.next, b.clocks.began = world, 0, 0
	}
	b.raw, b.flushed = raw, true
}

// raw returns the distance from the node's own clock to its wall clock.
func raw(now window.Instant, wall time.Time) time.Duration {
	return time.Duration(wall.UnixNano() - int64(now))
}

// stepped reports whether the wall clock has stepped since the last flush.
func (b *heartbeat) stepped(raw time.Duration) bool {
	return b.flushed && (raw-b.raw).Abs() > gate.ClockStep
}

// collect appends this flush's operations to ops: the number of nodes, this node's beat, and its
// wall clock.
func (b *heartbeat) collect(ops []ring.Op, wall time.Time) []ring.Op {
	second := wall.Add(-b.offset()).Unix()
	beats := b.joined && second != b.last
	for server := range b.servers {
		ops = b.beat(ops, server, second-beatDone, 0)
		if beats {
			ops = b.beat(ops, server, second, 1)
		}
	}
	if beats {
		b.last = second
	}
	if on := b.lookAt(b.looksAt[:0]); !slices.Equal(on, b.clocks.on) {
		b.looksAt = on
		b.clocks.use(on, b.clockKey)
	}
	return b.clocks.add(ops, wall.Add(-b.world))
}

// lookAt appends up to clockServers servers that have answered lately, or the first server when
// none has.
func (b *heartbeat) lookAt(to []int) []int {
	for server := 0; server < b.servers && len(to) < clockServers; server++ {
		if b.pop.options.Tally.Up(server) {
			to = append(to, server)
		}
	}
	if len(to) == 0 {
		to = append(to, 0)
	}
	return to
}

// clockKey returns the name of a lane of the clocks on server.
func (b *heartbeat) clockKey(server, lane int) (key ring.Key) {
	b.pop.digest.Key(&key, ring.Counter{
		Variant: beatVariant | uint32(server), Window: beatEvery,
		Client: []byte(clockName), Period: uint64(lane),
	})
	return key
}

// beat appends an operation on the beat of second.
func (b *heartbeat) beat(ops []ring.Op, server int, second int64, delta uint64) []ring.Op {
	op := ring.Op{Server: server, Delta: delta, TTL: beatLife}
	b.pop.digest.Key(&op.Key, ring.Counter{
		Variant: beatVariant | uint32(server), Window: beatEvery,
		Client: []byte(beatName), Period: uint64(second),
	})
	return append(ops, op)
}

// merge merges the answers to the operations that collect made at now, and begins a look when due.
func (b *heartbeat) merge(ops []ring.Op, now window.Instant) {
	beats := ops[:len(ops)-b.clocks.added]
	b.clocks.merge(ops[len(beats):])
	b.totals = b.totals[:0]
	for n := range beats {
		if beats[n].Delta == 0 && beats[n].Err == nil {
			b.totals = append(b.totals, int64(min(beats[n].Total, mostNodes)))
		}
	}
	if b.joined {
		b.count.Store(max(1, median(b.totals)))
	}
	if b.clocks.began == 0 && now >= b.next {
		b.clocks.begin(now)
	}
}

// conclude takes in the result of a look that ended at now: by how much the clock that this node
// puts forward is ahead of the median.
func (b *heartbeat) conclude(now window.Instant, ahead time.Duration, answered bool) {
	b.next = now.Add(lookAgain)
	if !answered {
		return
	}
	if ahead += b.world; (ahead-b.offset()).Abs() < clockSame && ahead != 0 {
		ahead = b.offset()
	}
	if b.joined && ahead == b.offset() {
		b.next = now.Add(lookCheck + b.jitter)
	}
	b.pop.gate.Offsets().Apply(ahead)
	b.joined = ahead.Abs() <= mostOffset
	if b.skewed.Store(!b.joined); !b.joined {
		b.count.Store(1)
	}
}

// median returns the median of the totals that servers answered, the lesser of two, and 0 of none.
// A single server lying or forgot does not matter where there are others. It sorts totals.
func median[T int64 | time.Duration](totals []T) T {
	if len(totals) == 0 {
		return 0
	}
	slices.Sort(totals)
	return totals[(len(totals)-1)/2]
}
