package window

import "sync/atomic"

const (
	// mostFolded is the most refusals of a full key counted in its fullWord before a record, and
	// 1/foldedPart of the limit the most for a small limit.
	mostFolded = 32
	foldedPart = 8
)

// fullWord holds the instant until which not even cost 1 fits a key's window, so requests of a full
// key are refused without the slot's lock, by a single atomic operation:
//
//	bits 9..63  Instant before which nothing fits, rounded down to 512 ns; 0: not known
//	bits 6..8   low bits of the number of the slice in which refusals may be folded
//	bit  5      refusals may be folded: the last recorded one was in that slice
//	bits 0..4   refusals of cost 1 that were folded: counted here, not recorded yet
//
// Rounding down is safe: for the rest of the 512 ns the exact log decides.
//
// Folded refusals are recorded by the refusal making their number mostFolded or a foldedPart of the
// limit, by the first refusal in another slice of the window, by whoever takes the lock for the
// key's figures, and by the next sweep, within slotRound. Refusals are placed at the refusal
// recorded before, up to a slice early. No decision depends on the place.
//
// The word is written under the slot's lock, except that fold adds refusals without the lock.
type fullWord struct{ word atomic.Uint64 }

const (
	foldedBits = 1<<5 - 1
	foldable   = 1 << 5
	sliceShift = 6
	sliceBits  = 7 << sliceShift
	untilBits  = ^uint64(1<<9 - 1)
	// heldBit is set where other nodes know the key to be at the limit, and this node lacks the
	// counts. Shared limits only: of those nothing is folded.
	heldBit = 1 << sliceShift
)

// untilOf returns the Instant in word.
func untilOf(word uint64) Instant { return Instant(word & untilBits) } // an Instant before

// until returns the Instant before which nothing fits, 0 if none is known.
func (f *fullWord) until() Instant { return untilOf(f.word.Load()) }

// set replaces the Instant, which is not negative, and returns the refusals folded until then.
// Further refusals are recorded singly until allow is called.
func (f *fullWord) set(until Instant) (folded int64) {
	next := uint64(until) & untilBits // not negative
	if word := f.word.Load(); word == next || word&untilBits == next && next != 0 {
		return 0
	}
	return int64(f.word.Swap(next) & foldedBits) // 5 bits
}

// hold sets the Instant by the knowledge of other nodes. An Instant is not negative.
func (f *fullWord) hold(until Instant) { f.word.Store(uint64(until)&untilBits | heldBit) }

// held reports whether the Instant is the knowledge of other nodes, and not over.
func (f *fullWord) held(now Instant) bool {
	word := f.word.Load()
	return word&(heldBit|foldable) == heldBit && untilOf(word) > now
}

// allow lets refusals be folded in the slice of that number, if the end of the refusals is known
// and no refusals are folded now.
func (f *fullWord) allow(slice uint64) {
	word := f.word.Load()
	if word&untilBits != 0 && word&foldedBits == 0 {
		f.word.CompareAndSwap(word, word&untilBits|(slice<<sliceShift&sliceBits)|foldable)
	}
}

// take returns the folded refusals, which the caller records. No more are folded before allow is
// called again.
func (f *fullWord) take() (folded int64) {
	if f.word.Load()&(foldedBits|foldable) == 0 {
		return 0
	}
	return int64(f.word.And(untilBits) & foldedBits) // 5 bits
}

// fold counts a refusal in the slice of that number, if refusals may be folded there, word is still
// the state, and fewer than most are then counted. fold takes no lock.
func (f *fullWord) fold(word, slice uint64, most uint32) bool {
	return word&(foldable|sliceBits) == foldable|slice<<sliceShift&sliceBits &&
		uint32(word&foldedBits)+1 < most && f.word.CompareAndSwap(word, word+1)
}

// refuseFull refuses cost 1 without the lock if the key is known to be at the limit. The index is
// read before and after the word: if the slot changed hands in between, the word is not this key's.
func (m *Meter) refuseFull(c *Count, s *slot, now Instant, h *Hit) bool {
	if s.index.Load() != uint64(h.index) || m.other(s) {
		return false
	}
	word := s.full.word.Load()
	wait := untilOf(word).Sub(now)
	if wait <= 0 || s.index.Load() != uint64(h.index) {
		return false
	}
	c.Used, c.Wait, c.Reset, c.Exact = m.limit, wait, wait, true
	c.Told = word&(heldBit|foldable) == heldBit
	slice, _ := m.slices.of(uint64(now)) // an Instant of a running clock
	if c.Folded = s.full.fold(word, slice, m.fold); !c.Folded {
		m.countRefused(s, now, h, 1, true)
	}
	return true
}

// countRefused records a refusal decided without the lock. A refused request does not wait: if the
// lock is busy, the cost is left in missed for the next refusal to add. full is set while the key
// is at the limit, so nothing in the log can have expired.
func (m *Meter) countRefused(s *slot, now Instant, h *Hit, cost int64, full bool) {
	if !s.mu.TryLock() {
		s.missed.Add(uint32(cost)) // at most 1e6
		return
	}
	defer s.mu.Unlock()
	if s.index.Load() != uint64(h.index) {
		var c Count
		m.lost(&c, now, h, cost)
	} else {
		m.fit(s, h.at)
		t := m.at(s, now)
		if !full || s.refusals == 0 {
			t = m.expire(s, now)
		}
		s.last = t.now
		m.refuse(s, h.at, t, cost)
		m.allowFolds(s, t)
	}
}

// allowFolds has refusals coming in the same slice as the recorded refusal fold.
func (m *Meter) allowFolds(s *slot, t stamp) {
	if m.fold > 1 && s.refusals != 0 {
		s.full.allow(m.slice(t.now))
	}
}
