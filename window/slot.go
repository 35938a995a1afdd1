package window

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/headgate-dev/headgate/sketch"
)

// inlineKey is how many key bytes a slot holds itself. IPv6 addresses and UUIDs fit.
const inlineKey = 40

// held is how many sub-windows cover the running and a whole window before.
const held = sketch.SubWindows + 1

// slot is the exact memory of a suspect, in two cache lines: the first for every request, the
// second for the sweeper and people. The lock is held for tens of nanoseconds of arithmetic, and
// only by requests for this same key. A key at the limit is refused by index and full alone.
type slot struct {
	mu       sync.Mutex
	index    atomic.Uint64 // sketch.Index, 0: empty
	full     fullWord      // until when nothing fits, and refusals not recorded yet
	last     Instant       // of the last change under the lock
	admitted marks
	// number of the record in the pool; 0: nothing was refused in the last window
	refusals uint32
	pending  pending // cost the other nodes do not know of yet

	since  Instant     // when the key became a suspect
	carry  [held]uint8 // the sketch's count by then, newest sub-window first, units
	keyLen uint16
	rule   atomic.Uint32   // Meter.id
	missed atomic.Uint32   // cost refused while the lock was busy, not yet recorded
	key    [inlineKey]byte // the key, or its first chunk
}

// Key storage: long keys live in a list of chunks, packed four bytes to a tick.

// setKey stores key. A long key without room counts as every other, without the text: the key is
// not listed, and the cost is not told to other nodes. The caller holds mu.
func (s *slot) setKey(a *arena, key []byte) {
	s.keyLen = uint16(len(key)) // at most 256
	if len(key) <= inlineKey {
		copy(s.key[:], key)
		return
	}
	if a.kept() { // logs come first
		a.failed.Add(1)
		s.keyLen = 0
		return
	}
	var m marks
	m.per = 1
	for ; len(key) > 0; key = key[min(4, len(key)):] {
		var quad [4]byte
		copy(quad[:], key)
		if !m.append(a, binary.LittleEndian.Uint32(quad[:])) {
			m.drop(a)
			s.keyLen = 0
			return
		}
	}
	// the first, and the last has no next
	binary.LittleEndian.PutUint32(s.key[:], a.chunks[m.tail].next.Swap(0))
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
