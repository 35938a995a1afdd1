package coordinator

import (
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// memory bounds the bytes of all keys. A key's bytes are counted when the key is new, as of two
// PoPs, and anew at each turn of the key.
//
// Without room, a new key is counted by its PoP alone, and keys that have used less of their limit
// give way: floor, the least part with room, rises up to that of keys that found none.
type memory struct {
	most, used int64
	refused    uint64         // keys without room
	floor      float64        // 0: every key has room
	wanted     float64        // the greatest part of a key without room since the last tick, 0..1
	doubtful   window.Instant // when a key last gave way or found no room; 0: never
}

const (
	// DefaultMemory is the default of Options.Memory, bytes.
	DefaultMemory = 64 << 20
	// floorRises and floorFalls are the factors of floor in a tick, leastFloor is the first floor.
	floorRises, floorFalls, leastFloor = 1.1, 0.95, 0.01
)

// pressed reports whether keys give way, so that a tenth of the memory is for new keys.
func (m *memory) pressed() bool { return m.used > m.most-m.most/10 }

// take takes bytes for a key that has used part of its limit, and reports whether there is room.
func (m *memory) take(now window.Instant, bytes int, part float64) bool {
	full := m.used+int64(bytes) > m.most
	if full {
		m.wanted = max(m.wanted, min(part, 1))
	}
	if full || part < m.floor {
		m.doubtful = now
		m.refused++
		return false
	}
	m.used += int64(bytes)
	return true
}

// recount makes bytes, counted of a key, is.
func (m *memory) recount(bytes *int, is int) {
	m.used += int64(is - *bytes)
	*bytes = is
}

// yields reports whether a key that has used part of its limit gives way.
func (m *memory) yields(now window.Instant, part float64) bool {
	if part >= m.floor || !m.pressed() {
		return false
	}
	m.doubtful = now
	return true
}

// tick moves the floor.
func (m *memory) tick() {
	switch {
	case m.wanted > m.floor:
		m.floor = min(max(m.floor*floorRises, m.wanted/2), m.wanted)
	case !m.pressed():
		if m.floor *= floorFalls; m.floor < leastFloor {
			m.floor = 0
		}
	}
	m.wanted = 0
}

// doubts reports whether a slot made at since may hold counts of others from before its key, new
// here under r, gave way.
func (m *memory) doubts(now, since window.Instant, r *terms) bool {
	return m.doubtful != 0 && now.Sub(m.doubtful) < 2*r.Window && now.Sub(since) > time.Second
}

// The bytes of a key beside its struct: the entries of maps and lists, as large as they are in the
// mean, and a text beside its length.
const entryBytes, textBytes = 72, 16

// bytesOf returns the bytes of lists.
func bytesOf[T any](lists ...[]T) (sum int) {
	for _, l := range lists {
		sum += cap(l) * int(unsafe.Sizeof(*new(T)))
	}
	return sum
}

// size returns the bytes of k, which is in two maps, with a state to come.
func (k *counted) size() int {
	sum := int(unsafe.Sizeof(*k)) + entryBytes*4/3 + len(k.id.Key) + textBytes +
		max(bytesOf(k.states), int(unsafe.Sizeof(counts.State{})))
	if k.before != nil {
		sum += int(unsafe.Sizeof(*k.before))
	}
	if t := k.contest; t != nil {
		sum += int(unsafe.Sizeof(*t)) + bytesOf(t.shares) + bytesOf(t.most)
	}
	return sum
}

// size returns the bytes of l.
func (l *local) size() int {
	return int(unsafe.Sizeof(*l)) + entryBytes + len(l.id.Key) + textBytes +
		bytesOf(l.came.list, l.others.known, l.others.placed, l.view.Moments)
}

// size returns the bytes of d, with nodes and witnesses to come.
func (d *reporterKey) size() int {
	sum := int(unsafe.Sizeof(*d)) + entryBytes + len(d.is.id.Key) + 2*textBytes +
		bytesOf(d.report.Moments) +
		max(d.nodes.Len(), 1)*(int(unsafe.Sizeof(nodeState{}))+entryBytes) +
		max(d.witnesses.Len(), 2)*(int(unsafe.Sizeof(witness{}))+entryBytes)
	for _, n := range d.nodes.All() {
		if sum += bytesOf(n.moments); n.report != nil {
			sum += int(unsafe.Sizeof(*n.report))
		}
	}
	for _, w := range d.witnesses.All() {
		sum += bytesOf(w.view.Moments)
	}
	return sum
}

// size returns the bytes of b.
func (b *ownedKey) size() int {
	return ownedBytes(b.subscribers.Len()) + b.aggregate.Bytes() - control.BytesOf(0) +
		len(b.id.Key)
}

// ownedBytes returns the bytes of an owned key with so many subscribers, and no origin.
func ownedBytes(subscribers int) int {
	return int(unsafe.Sizeof(ownedKey{})) + entryBytes + 2*textBytes + control.BytesOf(0) +
		subscribers*(int(unsafe.Sizeof(subscriber{}))+entryBytes)
}

// partOf returns the part of the limit of r that is used by a report's rate, or was by all PoPs.
func partOf(r *terms, is *control.Report) float64 {
	return max(is.Rate, is.LastSum) / r.PerSecond()
}

// partUsed returns the part of the limit of r that a key has used that was last asked for idle ago.
func partUsed(r *terms, used int64, idle time.Duration) float64 {
	if idle > r.Window {
		return 0
	}
	return float64(used) / float64(r.Limit)
}
