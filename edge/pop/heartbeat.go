package pop

import (
	"hash/fnv"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// The nodes of a PoP number the periods of a window by their wall clocks. A node whose clock is
// wrong would add its counts to the counters of another period, and other nodes would refuse
// clients for them later. So the nodes compare their clocks, by two kinds of counters on every
// server:
//
//	beat of second s +1 by each node that shares, while its clock shows s;
//	    it lives beatLife seconds
//	liveness         +1 by each node that shares, every second;
//	                 it lives about livenessLife seconds
//
// The beat of two seconds ago is the number of nodes. In a look around, a node reads the beats of
// all seconds within beatHorizon of its present; the newest of other nodes is their present. A node
// starting looks around before it shares anything. It counts alone while its clock is skewed, and
// looks around again now and then. The liveness counter shows that other nodes exist though their
// clocks are beyond the horizon.
const (
	beatEvery = time.Second
	// seconds before and after the present a look around reads
	beatHorizon = 120
	beatLife    = 2*beatHorizon + 10 // seconds
	beatDone    = 2                  // seconds after which every node has beaten
	// seconds; up to 6 more by server, so not all expire at once
	livenessLife = 30
	// between two looks while the clocks agree, and up to half more by node
	lookCheck   = 10 * time.Second
	lookServers = 3    // servers a look reads; every node beats on all servers
	mostNodes   = 1000 // of a PoP: a server that claims more is not believed
)

// The names of the heartbeat's counters are part of the exchange between versions of headgate.
// beatVariant keeps them apart from the counters of rules.
const (
	beatVariant  = uint32(1) << 31
	beatName     = "beat"
	livenessName = "pulse"
)

// heartbeat compares a node's clock with those of the other nodes, and counts the nodes. It belongs
// to the flusher's goroutine, except for its atomic fields.
type heartbeat struct {
	pop     *Flusher
	servers int
	last    int64          // second of the last beat, Unix time
	own     map[int64]bool // seconds of this node's beats within the horizon
	looking bool           // the operations of this flush end with a look around
	// the others' newest beat at the last look, seconds after the present, or unclear
	newest  int64
	next    time.Time      // of the next look, by the wall clock
	offset  time.Duration  // from the node's own clock to the wall clock, to notice steps
	jitter  time.Duration  // added to lookCheck, so the nodes look at different times
	joined  bool           // this node shares
	now     window.Instant // of this flush
	alive   window.Instant // when this node last added to the liveness counter
	looksAt []int          // the servers of the present look
	totals  []int64        // of a counter, by server; memory for median

	count atomic.Int64 // nodes, this node included
	// while skewed: seconds this clock is ahead of the others'; 0: beyond the horizon
	skew   atomic.Int64
	skewed atomic.Bool // the clock is not the others'
}

func newHeartbeat(p *Flusher, servers int) *heartbeat {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.gate.Node())) // never fails
	b := &heartbeat{
		pop: p, servers: servers, own: map[int64]bool{}, newest: unclear,
		jitter: time.Duration(h.Sum32()%5000) * time.Millisecond,
	}
	b.count.Store(1)
	return b
}

// clock returns how this node's clock compares with the others'.
func (b *heartbeat) clock() health.ClockState {
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

// noticeStep makes the node compare anew when its wall clock has stepped since the last flush.
// offset is the distance from the node's own clock to the wall clock.
func (b *heartbeat) noticeStep(now window.Instant, offset time.Duration, wall time.Time) {
	b.now = now
	if b.stepped(offset) {
		b.joined, b.newest, b.next = false, unclear, wall
	}
	b.offset = offset
}

// stepped reports whether the wall clock has stepped since the last flush, by which it was offset
// from the node's own clock.
func (b *heartbeat) stepped(offset time.Duration) bool {
	return (offset - b.offset).Abs() > gate.ClockStep
}

// collect appends this flush's operations to ops: the number of nodes, this node's beat, and a look
// around when due.
func (b *heartbeat) collect(ops []ring.Op, wall time.Time) []ring.Op {
	second := wall.Unix()
	beats := b.joined && second != b.last
	for server := range b.servers {
		ops = b.beat(ops, server, second-beatDone, 0)
		if beats {
			ops = b.beat(ops, server, second, 1)
			ops = b.liveness(ops, server, 1)
		}
	}
	if beats {
		b.remember(second)
	}
	if b.looking = !wall.Before(b.next); b.looking {
		ops = b.collectLook(ops, second)
	}
	return ops
}

// remember notes this node's beat of second, and forgets those beyond the horizon.
func (b *heartbeat) remember(second int64) {
	b.last, b.own[second], b.alive = second, true, b.now
	if len(b.own) > beatLife {
		maps.DeleteFunc(b.own, func(at int64, _ bool) bool { return at < second-beatHorizon })
	}
}

// beat appends an operation on the beat of second.
func (b *heartbeat) beat(ops []ring.Op, server int, second int64, delta uint64) []ring.Op {
	return b.counter(ops, ring.Op{Server: server, Delta: delta, TTL: beatLife},
		beatName, uint64(second))
}

// liveness appends an operation on the liveness counter.
func (b *heartbeat) liveness(ops []ring.Op, server int, delta uint64) []ring.Op {
	return b.counter(ops, ring.Op{
		Server: server, Delta: delta,
		TTL: livenessLife + uint32(server%7),
	}, livenessName, 0)
}

func (b *heartbeat) counter(ops []ring.Op, op ring.Op, name string, number uint64) []ring.Op {
	b.pop.digest.Key(&op.Key, ring.Counter{
		Variant: beatVariant | uint32(op.Server), Window: beatEvery,
		Client: []byte(name), Period: number,
	})
	return append(ops, op)
}

// merge merges the answers to the operations that collect made at wall.
func (b *heartbeat) merge(ops []ring.Op, wall time.Time) {
	if b.looking {
		look := ops[len(ops)-len(b.looksAt)*lookStride:]
		ops = ops[:len(ops)-len(look)]
		b.mergeLook(look, wall)
	}
	b.totals = b.totals[:0]
	for n := range ops {
		if ops[n].Delta == 0 && ops[n].Err == nil {
			b.totals = append(b.totals, int64(min(ops[n].Total, mostNodes)))
		}
	}
	b.count.Store(max(1, median(b.totals)))
}

// median returns the median of the totals that servers answered, the lesser of two, and 0 of none.
// A single server lying or forgot does not matter where there are others. It sorts totals.
func median(totals []int64) int64 {
	if len(totals) == 0 {
		return 0
	}
	slices.Sort(totals)
	return totals[(len(totals)-1)/2]
}
