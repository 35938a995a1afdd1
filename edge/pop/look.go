package pop

import (
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
)

const (
	lookBeats  = 2*beatHorizon + 1 // counters a look reads of a server
	lookStride = lookBeats + 1     // and the liveness counter
	lookAgree  = 1                 // seconds that clocks which agree may differ
	unclear    = -(1 << 30)        // in place of seconds: no other node's beat was found
)

// otherBeats is how many other nodes beat in each second within the horizon; the present is at
// beatHorizon.
type otherBeats [lookBeats]int64

// newest returns the second of the newest beat, relative to the present, or unclear.
func (o *otherBeats) newest() int64 {
	for at := lookBeats - 1; at >= 0; at-- {
		if o[at] > 0 {
			return int64(at) - beatHorizon
		}
	}
	return unclear
}

// collectLook appends the operations of a look around, server by server.
func (b *heartbeat) collectLook(ops []ring.Op, second int64) []ring.Op {
	b.looksAt = b.lookAt(b.looksAt[:0])
	for _, server := range b.looksAt {
		for at := second - beatHorizon; at <= second+beatHorizon; at++ {
			ops = b.beat(ops, server, at, 0)
		}
		ops = b.liveness(ops, server, 0)
	}
	return ops
}

// lookAt appends up to lookServers servers that have answered lately, or the first server when none
// has.
func (b *heartbeat) lookAt(to []int) []int {
	for server := 0; server < b.servers && len(to) < lookServers; server++ {
		if b.pop.options.Tally.Up(server) {
			to = append(to, server)
		}
	}
	if len(to) == 0 {
		to = append(to, 0)
	}
	return to
}

// mergeLook decides from the answers to a look around whether this node shares.
func (b *heartbeat) mergeLook(look []ring.Op, wall time.Time) {
	// between two looks while the others' clocks are unclear
	b.next = wall.Add(2 * time.Second)
	others, alive, answered := b.readLook(look, wall)
	if !answered {
		return
	}
	newest, before := others.newest(), b.newest
	b.newest = newest
	switch {
	case newest == unclear && !b.joined && alive && !b.aliveAlone():
		b.separate(0)
	case newest == unclear, newest >= -lookAgree && newest <= lookAgree:
		b.join(wall)
	case before == unclear || newest-before > lookAgree || before-newest > lookAgree:
		// The newest beat moved against this clock: nobody may have made it lately. If it only
		// grows older, its node is gone.
		if !b.joined && before != unclear && newest < before {
			b.join(wall)
		}
	case b.joined && !b.outnumbered(others, newest):
		b.next = wall.Add(lookCheck + b.jitter)
	default:
		b.separate(-newest)
	}
}

// aliveAlone reports whether this node's own addition may be all that the liveness counter holds.
func (b *heartbeat) aliveAlone() bool {
	return b.now.Sub(b.alive) <= (livenessLife+7)*time.Second
}

// separate makes this node count alone. Its clock is skew seconds ahead of the others'; 0: too far
// to tell.
func (b *heartbeat) separate(skew int64) {
	b.joined = false
	b.skew.Store(skew)
	b.skewed.Store(true)
}

// join makes this node share.
func (b *heartbeat) join(wall time.Time) {
	b.joined = true
	b.skewed.Store(false)
	b.skew.Store(0)
	b.next = wall.Add(lookCheck + b.jitter)
}

// outnumbered reports whether at least as many nodes beat at the others' newest beat as at this
// node's present. At equal numbers the node that is behind gives way, so not both do.
func (b *heartbeat) outnumbered(others *otherBeats, newest int64) bool {
	there, here := others[max(0, beatHorizon+newest-1)], others[beatHorizon-beatDone]+1
	if newest > 0 {
		// nodes that are ahead beat at this node's present too, a while ago
		return there >= here-there
	}
	return there > here
}

// readLook returns the others' beats, whether the liveness counter exists, and whether any server
// answered.
func (b *heartbeat) readLook(
	look []ring.Op, wall time.Time,
) (others *otherBeats, alive, answered bool) {
	others = new(otherBeats)
	for at := range others {
		others[at] = b.totalOf(look[at:])
		if b.own[wall.Unix()-beatHorizon+int64(at)] {
			others[at] = max(0, others[at]-1)
		}
	}
	alive = b.totalOf(look[lookBeats:]) > 0
	return others, alive, len(b.totals) > 0
}

// totalOf returns the median total of the first counter in look over the servers looked at.
// b.totals holds each server's then.
func (b *heartbeat) totalOf(look []ring.Op) int64 {
	b.totals = b.totals[:0]
	for n := 0; n < len(look); n += lookStride {
		if look[n].Err == nil {
			b.totals = append(b.totals, int64(min(look[n].Total, mostNodes)))
		}
	}
	return median(b.totals)
}
