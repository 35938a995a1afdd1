package tables

import (
	"sync"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Siblings remember how many narrower keys asked under a wide key, such as the addresses
// of a network, so a loud address does not have its whole network denied.
//
//	request: address, network ─Note─► the last few addresses under the network, and when
//	                                            └──► how many of them asked within the window

const (
	siblingWays = 4 // places a wide key may take
	// MaxSiblingsBytes is the most memory of a table.
	MaxSiblingsBytes = 1 << 20
	// minSiblingsBytes is the least.
	minSiblingsBytes   = 1 << 16
	siblingBucketBytes = int(unsafe.Sizeof(siblingBucket{}))
)

// Siblings is a bounded table of wide keys. Its methods may be called concurrently, and allocate
// nothing.
type Siblings struct {
	buckets []siblingBucket
}

// siblingBucket is the places of the keys that meet there.
type siblingBucket struct {
	mu      sync.Mutex // held for nanoseconds
	entries [siblingWays]sibling
	evicted uint64
}

// sibling is a wide key.
type sibling struct {
	index sketch.Index // 0: free
	last  window.Instant
	n     int // of asked
	asked [mitigation.MaxSiblings]sighting
}

// sighting is a narrower key and the last time it asked. The newest is the first of its entry.
type sighting struct {
	key uint32 // of its keyed hash: two that are equal count as one
	at  uint32 // milliseconds
}

// SiblingsBytes returns how much of memory, in bytes, is for a table: a 32nd at most, if one of the
// rules needs it.
func SiblingsBytes(memory int64, rules []mitigation.Rule) int64 {
	for i := range rules {
		if rules[i].Siblings > 0 {
			return min(MaxSiblingsBytes, memory/32)
		}
	}
	return 0
}

// NewSiblings returns a table of about bytes bytes, at least minSiblingsBytes and at most
// MaxSiblingsBytes.
func NewSiblings(bytes int) *Siblings {
	return &Siblings{buckets: make([]siblingBucket, min(max(bytes, minSiblingsBytes),
		MaxSiblingsBytes)/siblingBucketBytes)}
}

func (t *Siblings) bucket(wide sketch.Index) *siblingBucket { return of(t.buckets, wide) }

// Note notes that the narrower key asked under wide at now, and returns how many narrower keys did
// in the time span before, at most most, which is at most mitigation.MaxSiblings. Both indices are
// keyed.
func (t *Siblings) Note(
	now window.Instant, wide, narrower sketch.Index, span time.Duration, most int,
) int {
	b := t.bucket(wide)
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(now, wide, most)
	e.last = now
	e.note(sighting{key: uint32(narrower >> 32), at: millis(now)}, most)
	return e.within(now, span, most)
}

// Count is Note without a narrower key.
func (t *Siblings) Count(now window.Instant, wide sketch.Index, span time.Duration, most int) int {
	b := t.bucket(wide)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.entries {
		if e := &b.entries[i]; e.index == wide {
			return e.within(now, span, most)
		}
	}
	return 0
}

// sibling returns the entry of wide: its own, or a free one, or that of a key with fewer than most
// narrower keys that asked longest ago; of full entries, too, the entry asked longest ago.
func (b *siblingBucket) entry(now window.Instant, wide sketch.Index, most int) *sibling {
	victim := &b.entries[0]
	for i := range b.entries {
		e := &b.entries[i]
		if e.index == wide {
			if now.Sub(e.last) > mitigation.MaxWindow {
				*e = sibling{index: wide} // millis would come round
			}
			return e
		}
		if full, least := e.n >= most, victim.n >= most; e.index == 0 ||
			victim.index != 0 && (!full && least || full == least && e.last < victim.last) {
			victim = e
		}
	}
	if victim.index != 0 && now.Sub(victim.last) <= mitigation.MaxWindow {
		b.evicted++
	}
	*victim = sibling{index: wide}
	return victim
}

// note makes s the first of the most kept.
func (e *sibling) note(s sighting, most int) {
	at := 0
	for at < e.n && e.asked[at].key != s.key {
		at++
	}
	if at == e.n && e.n < most {
		e.n++
	}
	at = min(at, e.n-1)
	copy(e.asked[1:at+1], e.asked[:at])
	e.asked[0] = s
}

// within returns how many of the first most asked in span before now.
func (e *sibling) within(now window.Instant, span time.Duration, most int) (n int) {
	if now.Sub(e.last) >= span {
		return 0
	}
	for n < min(e.n, most) && int32(millis(now)-e.asked[n].at) < int32(span/time.Millisecond) {
		n++
	}
	return n
}

// millis returns now in milliseconds, which come round after 49 days: a difference of two is right
// up to 24.
func millis(now window.Instant) uint32 {
	return uint32(int64(now) / int64(time.Millisecond))
}

// SiblingsStats describe a Siblings.
type SiblingsStats struct {
	Keys    int    // wide keys held now, of whatever age
	Room    int    // for so many
	Evicted uint64 // keys that gave their place to another within the longest window
}

// Stats returns the figures; zero without a table.
func (t *Siblings) Stats() SiblingsStats {
	if t == nil {
		return SiblingsStats{}
	}
	s := SiblingsStats{Room: len(t.buckets) * siblingWays}
	for i := range t.buckets {
		b := &t.buckets[i]
		b.mu.Lock()
		s.Evicted += b.evicted
		for k := range b.entries {
			if b.entries[k].index != 0 {
				s.Keys++
			}
		}
		b.mu.Unlock()
	}
	return s
}
