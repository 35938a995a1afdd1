package edge

import (
	"hash/fnv"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// The nodes of a PoP number periods of time by their wall clocks, so a node whose clock is wrong would tell its
// counts to the wrong counters: others would take them for fresh ones later, and refuse for them. So each node beats: it
// adds 1 to a counter of the present second. Who is new looks where others beat before it tells anything, and
// stays apart while that is elsewhere; who is in looks again now and then. Beside the beats there is a pulse, one counter
// for all seconds: it tells that others are alive though their clocks are too far away to look for.
const (
	beatEvery   = time.Second
	beatHorizon = 120                // seconds to both sides in which other clocks are looked for
	beatLife    = 2*beatHorizon + 10 // seconds
	beatAgain   = 2 * time.Second    // from one look to the next while it is not clear whether others are alive
	beatCheck   = 10 * time.Second   // from one look to the next when all is well, and up to half more
	beatAgree   = 1                  // seconds that clocks may differ
	beatLooks   = 2*beatHorizon + 1  // counters of one look
	beatStride  = beatLooks + 1      // and the pulse
	pulseLife   = 30                 // seconds, and a few more from server to server, so that they do not all lapse at once
	beatServers = 3                  // servers looked at: all nodes beat on all of them
	beatDone    = 2                  // seconds after which every node has beaten
	unclear     = -(1 << 30)         // no difference known
	mostNodes   = 1000               // of a PoP that are believed
	beatKind    = uint32(1) << 31    // apart from any rule's variant
)

// beats is the state of it. It belongs to the flusher but for what is atomic.
type beats struct {
	pop     *PoP
	servers int
	told    int64          // second of the last beat
	own     map[int64]bool // seconds that this node beat in, within the horizon
	looking bool           // the present ops hold a look
	edge    int64          // where the others' newest beat was at the last look, relative to now, or unclear
	next    time.Time      // of the next look
	ahead   time.Duration  // of the wall clock before the node's own, to notice its steps
	jitter  time.Duration
	joined  bool
	now     window.Instant // of this flush
	pulsed  window.Instant // when this node last added to the pulse
	looksAt []int          // the servers of the present look
	said    []int64        // what servers say of one thing

	count atomic.Int64 // nodes, this one included
	skew  atomic.Int64 // seconds that this node's clock is ahead of the others' while it stays apart
	apart atomic.Bool
}

func newBeats(p *PoP, servers int) *beats {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.edge.node)) // never fails
	b := &beats{
		pop: p, servers: servers, own: map[int64]bool{}, edge: unclear,
		jitter: time.Duration(h.Sum32()%5000) * time.Millisecond,
	}
	b.count.Store(1)
	return b
}

// nodes returns how many nodes share, this one included.
func (b *beats) nodes() int { return int(b.count.Load()) }

// stepped begins anew when the wall clock, ahead of the node's own, jumped since the last flush.
func (b *beats) stepped(now window.Instant, ahead time.Duration, wall time.Time) {
	b.now = now
	if (ahead - b.ahead).Abs() > stepAbove {
		b.joined, b.edge, b.next = false, unclear, wall
	}
	b.ahead = ahead
}

// ask appends this flush's beats, the count of nodes, and when it is time a look around.
func (b *beats) ask(ops []ring.Op, wall time.Time) []ring.Op {
	second := wall.Unix()
	for server := range b.servers {
		ops = b.op(ops, server, second-beatDone, 0)
		if b.joined && second != b.told {
			ops = b.op(ops, server, second, 1)
			ops = b.pulse(ops, server, 1)
		}
	}
	if b.joined && second != b.told {
		b.told, b.own[second], b.pulsed = second, true, b.now
		if len(b.own) > beatLife {
			maps.DeleteFunc(b.own, func(at int64, _ bool) bool { return at < second-beatHorizon })
		}
	}
	if b.looking = !wall.Before(b.next); b.looking {
		b.looksAt = b.lookAt(b.looksAt[:0])
		for _, server := range b.looksAt {
			for at := second - beatHorizon; at <= second+beatHorizon; at++ {
				ops = b.op(ops, server, at, 0)
			}
			ops = b.pulse(ops, server, 0)
		}
	}
	return ops
}

// lookAt appends a few servers that answer of late, or any when none does.
func (b *beats) lookAt(to []int) []int {
	for server := 0; server < b.servers && len(to) < beatServers; server++ {
		if b.pop.o.Tally.Up(server) {
			to = append(to, server)
		}
	}
	if len(to) == 0 {
		to = append(to, 0)
	}
	return to
}

func (b *beats) op(ops []ring.Op, server int, second int64, delta uint64) []ring.Op {
	return b.counter(ops, ring.Op{Server: server, Delta: delta, TTL: beatLife}, "beat", uint64(second))
}

func (b *beats) pulse(ops []ring.Op, server int, delta uint64) []ring.Op {
	return b.counter(ops, ring.Op{Server: server, Delta: delta, TTL: pulseLife + uint32(server%7)}, "pulse", 0)
}

func (b *beats) counter(ops []ring.Op, op ring.Op, what string, number uint64) []ring.Op {
	b.pop.digest.Key(&op.Key, ring.Counter{
		Variant: beatKind | uint32(op.Server), Window: beatEvery, Client: []byte(what), Period: number,
	})
	return append(ops, op)
}

// learn takes in the answers to what ask asked at wall.
func (b *beats) learn(ops []ring.Op, wall time.Time) {
	if b.looking {
		looks := ops[len(ops)-len(b.looksAt)*beatStride:]
		ops = ops[:len(ops)-len(looks)]
		b.look(looks, wall)
	}
	b.said = b.said[:0]
	for n := range ops {
		if ops[n].Delta == 0 && ops[n].Err == nil {
			b.said = append(b.said, int64(min(ops[n].Total, mostNodes)))
		}
	}
	b.count.Store(max(1, middle(b.said)))
}

// middle returns the median of what servers say, the lesser of two, so that one that lies or forgot does not
// matter where there are others; 0 of nothing.
func middle(said []int64) int64 {
	if len(said) == 0 {
		return 0
	}
	slices.Sort(said)
	return said[(len(said)-1)/2]
}

// look finds out from a look around whether this node's clock is the others'.
func (b *beats) look(looks []ring.Op, wall time.Time) {
	others, pulse, answered := b.others(looks, wall)
	if !answered {
		b.next = wall.Add(beatAgain)
		return
	}
	edge, was := newest(others), b.edge
	b.edge = edge
	b.next = wall.Add(beatAgain)
	switch {
	case edge == unclear && !b.joined && pulse && b.now.Sub(b.pulsed) > (pulseLife+7)*time.Second: // and it is others'
		b.part(0)
	case edge == unclear, edge >= -beatAgree && edge <= beatAgree:
		b.agree(wall)
	case was == unclear || edge-was > beatAgree || was-edge > beatAgree:
		// nobody was alive to beat on, if the newest beat only grows older: the next look tells
		if !b.joined && was != unclear && edge < was {
			b.agree(wall)
		}
	case b.joined && !b.outnumbered(others, edge):
		b.next = wall.Add(beatCheck + b.jitter)
	default:
		b.part(-edge)
	}
}

// part leaves the others alone: this node's clock is skew seconds ahead of theirs, 0: too far to tell.
func (b *beats) part(skew int64) {
	b.joined = false
	b.skew.Store(skew)
	b.apart.Store(true)
}

func (b *beats) agree(wall time.Time) {
	b.joined = true
	b.apart.Store(false)
	b.skew.Store(0)
	b.next = wall.Add(beatCheck + b.jitter)
}

// outnumbered reports whether at least as many nodes beat at edge as at this node's present. One that is behind gives way at
// equal numbers, so that not both do.
func (b *beats) outnumbered(others *[beatLooks]int64, edge int64) bool {
	there, here := others[max(0, beatHorizon+edge-1)], others[beatHorizon-beatDone]+1
	if edge > 0 {
		return there >= here-there // whoever is ahead was here too, a while ago
	}
	return there > here
}

// others returns how many other nodes beat in each second, the present one in the middle, and whether there is a pulse.
func (b *beats) others(looks []ring.Op, wall time.Time) (others *[beatLooks]int64, pulse, answered bool) {
	others = new([beatLooks]int64)
	for at := range others {
		others[at] = b.saidOf(looks[at:])
		if b.own[wall.Unix()-beatHorizon+int64(at)] {
			others[at] = max(0, others[at]-1)
		}
	}
	pulse = b.saidOf(looks[beatLooks:]) > 0
	return others, pulse, len(b.said) > 0
}

// saidOf returns what the servers looked at say of the first of looks; b.said holds what each of them says.
func (b *beats) saidOf(looks []ring.Op) int64 {
	b.said = b.said[:0]
	for n := 0; n < len(looks); n += beatStride {
		if looks[n].Err == nil {
			b.said = append(b.said, int64(min(looks[n].Total, mostNodes)))
		}
	}
	return middle(b.said)
}

// newest returns where the newest beat is, relative to the present, or unclear.
func newest(others *[beatLooks]int64) int64 {
	for at := beatLooks - 1; at >= 0; at-- {
		if others[at] > 0 {
			return int64(at) - beatHorizon
		}
	}
	return unclear
}
