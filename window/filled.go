package window

import "math/bits"

// A key at the limit is so for all nodes, also for nodes without the key: each would admit a
// request before the first exchange. So such keys are handed out, for others to pass on, and what
// others found is asked for with a key's first request: see Limit.UsedUp.
//
//	push, Merge, MergeRemote ─► noteFilled ─► CollectFilled ─► (other nodes) ─► Limit.UsedUp
//	  ─► the slot is full

// Filled is a key at the limit.
type Filled struct {
	Rule  string
	Key   []byte  // valid until f returns
	Until Instant // nothing fits before
}

// noteFilled notes that the key of s, the slot at place at, has come to its limit, if it has. The
// caller holds the slot's lock. It is short enough to be inlined: every admission comes by, and few
// find anything to note.
func (m *Meter) noteFilled(s *slot, at int, t stamp) {
	if m.usedUp != nil && s.full.until() > t.now {
		m.c.sync.setFilled(at)
	}
}

// setFilled has CollectFilled hand out the key in the slot at place at.
func (y *syncTable) setFilled(at int) {
	y.filled[at/64].Or(1 << (at % 64))
	if !y.anyFilled.Load() {
		y.anyFilled.Store(true)
	}
}

// CollectFilled calls f for each key of a shared limit at the limit that has come there since the
// last call. For the goroutine that calls Collect.
func (c *Counter) CollectFilled(now Instant, f func(k Filled)) {
	s := c.sync
	if !s.anyFilled.Swap(false) {
		return
	}
	var key []byte
	for word := range s.filled {
		for set := s.filled[word].Swap(0); set != 0; set &= set - 1 {
			k := Filled{Key: key[:0]}
			if c.filled(word*64+bits.TrailingZeros64(set), now, &k) {
				f(k)
			}
			key = k.Key
		}
	}
}

// filled sets k to the key in the slot at place at, and reports whether the key is at the limit.
func (c *Counter) filled(at int, now Instant, k *Filled) bool {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := c.meterOf(s)
	if k.Until = s.full.until(); m == nil || s.index.Load() == 0 || s.keyLen == 0 ||
		k.Until <= now || s.full.held(now) {
		return false // held: it is others that said so
	}
	k.Rule, k.Key = m.name, s.appendKey(c.arena, k.Key)
	return true
}

// recall makes s, whose log is empty, the slot of a key at the limit if other nodes say so. Keys of
// more than inlineKey bytes are only looked up at the first slot. The caller holds the slot's lock.
func (m *Meter) recall(s *slot, t stamp) {
	if m.usedUp == nil || s.keyLen > inlineKey || s.full.until() > t.now {
		return
	}
	if until := m.usedUp(t.now, s.key[:s.keyLen]); until > t.now {
		s.full.hold(until)
	}
}
