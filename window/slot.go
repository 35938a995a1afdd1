package window

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/headgate-dev/headgate/sketch"
)

// inlineKey is how many key bytes a slot holds itself; IPv6 addresses and UUIDs fit.
const inlineKey = 54

// slot is the exact memory of one suspect, three cache lines: one that every request touches, one for
// refusals, one that only people and the sweeper read. The lock is held for tens of nanoseconds of
// arithmetic and only by requests for this same key; a key at its limit is refused from index and until
// alone.
type slot struct {
	mu       sync.Mutex
	index    atomic.Uint64 // sketch.Index, 0: empty
	until    atomic.Int64  // Instant before which not even cost 1 fits, 0: unknown
	last     Instant       // of the last change under the lock
	admitted marks
	watched  bool // offered is in use

	offered marks               // only while something was refused in the last window
	refused [held]atomic.Uint32 // epoch8·count24 a sub-window, in units of Meter.coarse
	lastNo  uint32              // tick of the newest refusal
	since   Instant             // when the key became a suspect

	carry  uint32 // estimate at that time: offered by then, decays over a window
	rule   uint32 // Meter.id
	keyLen uint16
	key    [inlineKey]byte // the key, or its first chunk and nothing
}

// held is how many sub-windows refused covers: the running one and a whole window before it.
const held = sketch.SubWindows + 1

// Cells of refused: the low byte of the sub-window number above a saturating count.
const (
	refusedBits = 24
	refusedMax  = 1<<refusedBits - 1
)

// addRefused counts n in sub-window number. Lock-free.
func (s *slot) addRefused(number uint64, n uint32) {
	cell := &s.refused[number%held]
	for {
		old := cell.Load()
		count := old & refusedMax
		if old>>refusedBits != uint32(number&0xff) {
			count = 0
		}
		count = min(count+n, refusedMax)
		if cell.CompareAndSwap(old, uint32(number&0xff)<<refusedBits|count) {
			return
		}
	}
}

// refusedAt returns the count of the sub-window age before number.
func (s *slot) refusedAt(number uint64, age uint64) uint32 {
	if age > number {
		return 0
	}
	cell := s.refused[(number-age)%held].Load()
	if cell>>refusedBits != uint32((number-age)&0xff) {
		return 0
	}
	return cell & refusedMax
}

// refusedIn returns what was refused in the trailing window that ends fraction of a sub-window into
// number: the oldest sub-window counts by the share of it that is still in.
func (s *slot) refusedIn(number uint64, fraction float64) float64 {
	sum := float64(s.refusedAt(number, held-1)) * (1 - fraction)
	for age := range uint64(held - 1) {
		sum += float64(s.refusedAt(number, age))
	}
	return sum
}

// clear forgets everything but the identity. The caller holds mu.
func (s *slot) clear(a *arena, per uint32) {
	s.admitted.drop(a)
	s.offered.drop(a)
	s.admitted.per, s.watched = per, false
	s.until.Store(0)
	for c := range s.refused {
		s.refused[c].Store(0)
	}
	s.carry = 0
}

// Key storage: long keys live in a list of chunks, packed four bytes to a tick.

// setKey stores key; it reports whether there was room. The caller holds mu.
func (s *slot) setKey(a *arena, key []byte) bool {
	s.keyLen = uint16(len(key)) //nolint:gosec // at most 256
	if len(key) <= inlineKey {
		copy(s.key[:], key)
		return true
	}
	var m marks
	m.per = 1
	for ; len(key) > 0; key = key[min(4, len(key)):] {
		var quad [4]byte
		copy(quad[:], key)
		if !m.append(a, binary.LittleEndian.Uint32(quad[:])) {
			m.drop(a)
			s.keyLen = 0
			return false
		}
	}
	binary.LittleEndian.PutUint32(s.key[:], m.head)
	return true
}

// appendKey appends the key to dst. The caller holds mu.
func (s *slot) appendKey(a *arena, dst []byte) []byte {
	if s.keyLen <= inlineKey {
		return append(dst, s.key[:s.keyLen]...)
	}
	c := binary.LittleEndian.Uint32(s.key[:])
	for left, at := int(s.keyLen), 0; left > 0; left, at = left-4, at+1 {
		if at == chunkTicks {
			c, at = a.chunks[c].next.Load(), 0
		}
		var quad [4]byte
		binary.LittleEndian.PutUint32(quad[:], a.chunks[c].ticks[at])
		dst = append(dst, quad[:min(4, left)]...)
	}
	return dst
}

// dropKey frees the chunks of a long key. The caller holds mu.
func (s *slot) dropKey(a *arena) {
	if s.keyLen > inlineKey {
		for c := binary.LittleEndian.Uint32(s.key[:]); c != 0; {
			next := a.chunks[c].next.Load()
			a.give(c)
			c = next
		}
	}
	s.keyLen = 0
}
