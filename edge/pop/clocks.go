package pop

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// clocks compares the wall clocks of a PoP's nodes by counters, the only means of a ring:
//
//	lane 0..3   +2^48 and the wall clock in milliseconds, modulo 2^38, by each node in each flush;
//	            a lane drawn by lot, on up to three servers
//
// Two readings of a lane show who flushed between, and the wall clock of that node then. In a look
// a node reads all lanes every clockEvery, for an interval between two flushes, and for two more if
// any clock differs. Each other node flushes once in an interval. The PoP's clock is the median, of
// an even number the clock behind. Nodes that flush at the same moment share a lane in a quarter of
// the flushes: see single.
type clocks struct {
	turn  uint32    // chooses the lane of the next addition
	on    []int     // the servers, at most clockServers
	lanes []ring.Op // a reading of all lanes, by server
	last  []uint64  // by lane: the total at the last reading, and this node's additions since
	known []bool    // by lane: whether last is the server's
	added int       // operations of this flush
	every time.Duration
	// of the look under way; 0: there is none
	began, read window.Instant // read: the last reading; 0: none yet
	seen        [clockServers][]sighting
	answered    bool
	leads       []time.Duration // memory for median
}

const (
	clockLanes   = 4
	clockServers = 3
	clockRounds  = 3                    // intervals of a look that finds another clock
	clockTTL     = 24 * 3600            // seconds
	clockEvery   = 2 * time.Millisecond // between two readings of a look
	clockCount   = 48                   // the bit from which a lane counts additions
	clockMask    = 1<<38 - 1            // of the milliseconds: eight years
	// clockSame is the lead below which two clocks are the same, and clockLate the lag: on a busy
	// machine an addition waits.
	clockSame = 10 * time.Millisecond
	clockLate = 50 * time.Millisecond
)

// sighting is the lead of other nodes' wall clocks over this node's: between two bounds.
type sighting struct {
	least, most time.Duration
	nodes       int64 // whose clocks were added up
}

// mean returns the middle of the bounds, or 0 if the clocks can be the same.
func (s *sighting) mean() time.Duration {
	if s.least <= clockSame && s.most >= -clockLate {
		return 0
	}
	return ((s.least + s.most) / 2).Truncate(time.Millisecond)
}

// use makes on the servers of the lanes, whose names key returns.
func (c *clocks) use(on []int, key func(server, lane int) ring.Key) {
	c.on, c.lanes = append(c.on[:0], on...), c.lanes[:0]
	for _, server := range on {
		for lane := range clockLanes {
			op := ring.Op{Server: server, Key: key(server, lane), TTL: clockTTL}
			c.lanes = append(c.lanes, op)
		}
	}
	c.last, c.known = make([]uint64, len(c.lanes)), make([]bool, len(c.lanes))
	c.began = 0
}

// add appends the addition of this node's wall clock to ops.
func (c *clocks) add(ops []ring.Op, wall time.Time) []ring.Op {
	c.turn = c.turn*1664525 + 1013904223 // by Numerical Recipes: the high bits are well mixed
	lane := int(c.turn >> 30)
	for c.added = 0; c.added < len(c.on); c.added++ {
		op := c.lanes[c.added*clockLanes+lane]
		op.Delta = 1<<clockCount + uint64(wall.UnixMilli()&clockMask)
		ops = append(ops, op)
	}
	return ops
}

// stamp moves the additions in ops on by the time since add. Collecting keys can take long.
func (c *clocks) stamp(ops []ring.Op, passed time.Duration) {
	for n := range c.added {
		ops[len(ops)-1-n].Delta += uint64(passed.Milliseconds())
	}
}

// merge takes in the answers to the additions.
func (c *clocks) merge(ops []ring.Op) {
	for n := range ops {
		lane := n*clockLanes + int(c.turn>>30)
		c.last[lane] += ops[n].Delta
		c.known[lane] = c.known[lane] && ops[n].Err == nil
	}
}

// begin begins a look.
func (c *clocks) begin(now window.Instant) {
	c.began, c.read, c.answered = now, 0, false
	clear(c.known)
	for n := range c.seen {
		c.seen[n] = c.seen[n][:0]
	}
}

// see takes in a reading of all lanes that was made from now to end, when the wall clock showed
// wall at now.
func (c *clocks) see(now, end window.Instant, wall time.Time) {
	for n := range c.lanes {
		op := &c.lanes[n]
		if op.Err != nil {
			c.known[n] = false
			continue
		}
		c.answered = true
		more := op.Total - c.last[n] // an empty restart makes it huge
		known, nodes := c.known[n], int64(more>>clockCount)
		c.last[n], c.known[n] = op.Total, true
		seen := &c.seen[n/clockLanes]
		if !known || nodes < 1 || nodes > mostNodes || len(*seen) == mostNodes {
			continue
		}
		millis := int64(more&(1<<clockCount-1)) / nodes
		half := int64(clockMask/2 + 1)
		lead := time.Duration((millis-wall.UnixMilli()+half)&clockMask-half) * time.Millisecond
		lead -= time.Duration(wall.UnixNano() % int64(time.Millisecond))
		*seen = append(*seen, sighting{
			least: lead - end.Sub(now),
			most:  lead + now.Sub(c.read) + time.Millisecond,
			nodes: nodes,
		})
	}
	c.read = now
}

// ended reports whether the look has seen enough by now: an interval where no other clock was seen,
// else clockRounds of them. Unless it hurries, the first interval is longer: a node that flushes
// while this node begins its look is else missed.
func (c *clocks) ended(now window.Instant, hurries bool) bool {
	other := slices.ContainsFunc(c.seen[:], func(all []sighting) bool {
		return slices.ContainsFunc(all, func(s sighting) bool { return s.mean() != 0 })
	})
	past, first := now.Sub(c.began), c.every
	if !hurries {
		first += c.every / 4
	}
	return past >= clockRounds*c.every || past >= first && !other
}

// ahead returns by how much this node's wall clock is ahead of the median of all: the median of the
// servers' answers.
func (c *clocks) ahead() time.Duration {
	c.leads = c.leads[:0]
	for n := range c.on {
		c.leads = append(c.leads, lead(c.seen[n]))
	}
	return -median(c.leads)
}

// lead returns the lead of the median clock over this node's, from the sightings of a look with
// clockRounds intervals. Clocks that are the same, one after the other, are of as many nodes as
// were seen in each interval.
func lead(all []sighting) time.Duration {
	for range clockRounds {
		all = append(all, sighting{nodes: 1}) // this node
	}
	all = single(all)
	slices.SortFunc(all, func(a, b sighting) int { return cmp.Compare(a.mean(), b.mean()) })
	var clocks []sighting // a clock each
	nodes := int64(0)
	for first, next := 0, 0; first < len(all); first = next {
		is := sighting{}
		for next < len(all) && all[next].mean()-all[max(first, next-1)].mean() <= clockSame {
			is.nodes += all[next].nodes
			next++
		}
		is.nodes = max(1, (is.nodes+clockRounds/2)/clockRounds)
		is.least = all[(first+next)/2].mean()
		nodes, clocks = nodes+is.nodes, append(clocks, is)
	}
	return middle(clocks, nodes)
}

// single returns all without the sums of several clocks that nobody was seen to have alone, unless
// most are sums.
func single(all []sighting) []sighting {
	var alone []time.Duration
	nodes := 0
	for n := range all {
		if nodes += int(all[n].nodes); all[n].nodes == 1 {
			alone = append(alone, all[n].mean())
		}
	}
	if 4*len(alone) < nodes {
		return all
	}
	return slices.DeleteFunc(all, func(s sighting) bool {
		return !slices.ContainsFunc(alone, func(lead time.Duration) bool {
			return (s.mean() - lead).Abs() <= clockSame
		})
	})
}

// middle returns the lead of the median of clocks, in their order, which are of so many nodes.
func middle(clocks []sighting, nodes int64) time.Duration {
	for n := range clocks {
		if nodes -= 2 * clocks[n].nodes; nodes <= 0 {
			return clocks[n].least
		}
	}
	return 0
}

// Look is a reading of the other nodes' wall clocks at now; wall is the node's own. It returns the
// time until Look is to be called again; 0: no look is under way.
func (p *Flusher) Look(
	ctx context.Context, now window.Instant, wall time.Time,
) (again time.Duration) {
	c := &p.heartbeat.clocks
	if c.began == 0 || p.heartbeat.stepped(raw(now, wall)) {
		return 0
	}
	p.begin(now, wall)
	p.options.Tally.Do(ctx, c.lanes)
	end := now.Add(p.elapsed())
	c.see(now, end, wall.Add(-p.heartbeat.world))
	if !c.ended(end, !p.heartbeat.joined) {
		return clockEvery
	}
	c.began = 0
	p.heartbeat.conclude(end, c.ahead(), c.answered)
	p.gate.Ring().SetClock(p.heartbeat.state())
	return 0
}
