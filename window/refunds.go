package window

import (
	"sync"
	"sync/atomic"

	"github.com/headgate-dev/headgate/sketch"
)

// Refunds over the nodes of a PoP. A shared counter only grows: from a lower total a node could not
// tell a refund from a forgetful server. So cost taken back has other counters, which only grow
// too, with the same layout:
//
//	counter of a key and a period          cost admitted and refused in the period
//	refund counter of a key and a period   cost taken back in the period
//	refund counter of a rule               above 0: some node sent refunds, so read the ones above
//
// Refund takes cost back at this node at once. Cost known to the others is then pending here, is
// added to the refund counter with the key's next exchange, and each node takes the cost back from
// the newest admissions of the log. A rule without refunds costs a read every few flushes.
//
// A refund lost leaves the limit stricter. No refund is applied twice, nor to newer admissions, nor
// where a server forgot the cost.

// mostRefunding is how many keys may have refunds under way at once, 112 bytes each. Refunds of
// further keys stay at this node.
const mostRefunding = 8192

// refunding is the state of a key's refund counters.
type refunding struct {
	index   sketch.Index // the key's
	pending int64        // cost taken back no other node knows of
	since   Instant      // of the oldest pending cost; 0: nothing is pending
	read    Instant      // when the counter of period was read last; 0: never
	period  uint32       // number of the period of last; 0: no counter was ever read
	last    uint64       // packed total of period, this node's part under way included
	before  uint64       // packed total of period-1, likewise
	again   bool         // the counter of period-1 is to be read once more
	// the log has taken in the counters: the next totals are the base
	rebase bool
}

// total returns the known total of a period.
func (r *refunding) total(period uint32) uint64 {
	switch {
	case r.period == 0:
		return 0
	case period == r.period:
		return r.last
	case period+1 == r.period:
		return r.before
	}
	return 0
}

// refunds holds the refunding keys by their place. The lock is a leaf, taken under a slot's.
type refunds struct {
	mu     sync.Mutex
	all    map[int]refunding
	held   atomic.Int32  // length of all
	unsent atomic.Uint64 // cost taken back the other nodes were not sent
	// when a server was last found to have forgotten; 0: never. Of the flusher's goroutine
	forgot Instant
	// slots made until then hold refunds of an earlier process; set before counting begins
	restored Instant
}

// get returns the state of the key with index i in the slot at place at.
func (r *refunds) get(at int, i sketch.Index) (is refunding, known bool) {
	if r.held.Load() == 0 {
		return is, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	is, known = r.all[at]
	return is, known && is.index == i
}

// put stores the state of the slot at place at. False: there is no room.
func (r *refunds) put(at int, is refunding, oldest uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.all[at]; !known && len(r.all) >= mostRefunding && !r.expire(oldest) {
		return false
	}
	if r.all == nil {
		r.all = map[int]refunding{}
	}
	r.all[at] = is
	r.held.Store(int32(len(r.all))) // at most mostRefunding
	return true
}

// expire drops a state without pending cost, whose counters were read before the period oldest, so
// all refunds have left the window. False: there was none.
func (r *refunds) expire(oldest uint32) bool {
	for at, is := range r.all {
		if is.pending == 0 && is.period < oldest {
			delete(r.all, at)
			return true
		}
	}
	return false
}

// drop forgets the state of the slot at place at, whose key goes.
func (r *refunds) drop(at int) {
	if r.held.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsent.Add(uint64(r.all[at].pending)) // not negative
	delete(r.all, at)
	r.held.Store(int32(len(r.all))) // at most mostRefunding
}

// oldestPeriod returns the oldest period before which nothing is in the window ending in period.
func (m *Meter) oldestPeriod(period uint32) uint32 {
	return period - uint32(m.span.window/m.packing.period) // at most 5
}

// owe makes cost taken back pending for the refund counter of the key in the slot at place at.
func (m *Meter) owe(s *slot, at int, now Instant, cost int64) {
	st, all := &m.c.sync.all[at], &m.c.sync.refunds
	// with last the first answer is under way
	if cost <= 0 || st.merged == 0 && st.last == 0 || st.flags&localOnly != 0 {
		return // no other node of the PoP was sent it
	}
	is, known := all.get(at, sketch.Index(s.index.Load()))
	if !known {
		is = m.newRefunding(s, st)
	}
	if is.since == 0 {
		is.since = now
	}
	is.pending += cost
	if !all.put(at, is, m.oldestPeriod(st.period)) {
		all.unsent.Add(uint64(cost)) // above 0
		return
	}
	m.c.sync.setDirty(at)
}

// newRefunding returns the state of a key whose refund counters were not read yet.
func (m *Meter) newRefunding(s *slot, st *syncState) refunding {
	return refunding{
		index:  sketch.Index(s.index.Load()),
		rebase: st.flags&rebase != 0 || s.since <= m.c.sync.refunds.restored,
	}
}
