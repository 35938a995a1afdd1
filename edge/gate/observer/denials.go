package observer

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

const (
	denialBytes = 32
	// newDenials is the most records a lane makes in newDenialsIn; further records are counted.
	newDenials   = 64
	newDenialsIn = 10 * time.Millisecond
	// keys of a lane whose last record is found again, by sets of a cache line
	recentSets, recentWays = 64, 8
	// settled is the age from which a record of a second does not change.
	settled = 4 * time.Second

	costBits = 40 // of denial.sum, and of a number beside a tag
)

// denial is the denials of a key for a reason within a second. A request writes it without a lock,
// and a reader takes what it read twice the same.
type denial struct {
	key    atomic.Uint64 // sketch.Index; 0: not written, or just being so
	when   atomic.Uint64 // seconds<<8 | why
	sum    atomic.Uint64 // times<<costBits | cost
	policy atomic.Pointer[string]
}

// Denials are the newest denials, in fixed memory. Note may be called concurrently.
type Denials struct {
	records []denial
	next    atomic.Uint64 // records begun
	lanes   []denialLane
	read    uint64 // records added to the counts by minute, of the observer
	dropped uint64 // that the counts know of, likewise
}

// denialLane is of a lane.
type denialLane struct {
	recent  [recentSets][recentWays]atomic.Uint64 // tag of a key | number of its record, plus 1
	made    atomic.Uint64                         // number of the 10 ms <<8 | records made in it
	dropped atomic.Uint64
	_       [48]byte
}

// Denial is the denials of a key within a second, for a reason, at the question of a policy.
type Denial struct {
	At     window.Instant
	Why    mitigation.Why
	Policy string // "": the rule and the key were asked for
	Times  uint64
	cost   uint64
	key    sketch.Index
}

// newRing returns a ring in at most size bytes, for so many lanes. The number of records is a power
// of two: a record is found without a division.
func newRing(size, lanes int) *Denials {
	records := 1 << (bits.Len(uint(size/denialBytes)) - 1)
	return &Denials{records: make([]denial, records), lanes: make([]denialLane, lanes)}
}

// Denied is a denied request.
type Denied struct {
	At     window.Instant
	Key    sketch.Index
	Why    mitigation.Why
	Policy *string // nil: there is none; it does not change
	Cost   int64
}

// Note records a denial by lane. Without a ring, nothing happens. Note neither waits nor allocates.
func (d *Denials) Note(lane int, is *Denied) {
	if d == nil {
		return
	}
	l := &d.lanes[lane]
	when := uint64(is.At)/uint64(time.Second)<<8 | uint64(is.Why)
	key, sum := uint64(is.Key), 1<<costBits|uint64(is.Cost)
	set, tag := &l.recent[key%recentSets], key&^(1<<costBits-1)
	var free *atomic.Uint64 // an entry of the key, of an earlier second
	for way := range set {
		n := set[way].Load() - tag - 1
		if n >= 1<<costBits {
			continue // of another key, or of none
		}
		r := d.record(n)
		switch at := r.when.Load(); {
		case at == when && r.key.Load() == key && r.policy.Load() == is.Policy:
			r.sum.Add(sum)
			return
		case at>>8 != when>>8:
			free = &set[way]
		}
	}
	if !l.may(uint64(is.At) / uint64(newDenialsIn)) {
		return
	}
	n := d.next.Add(1) - 1
	if free == nil {
		free = &set[n%recentWays]
	}
	r := d.record(n)
	r.key.Store(0)
	r.when.Store(when)
	r.sum.Store(sum)
	r.policy.Store(is.Policy)
	r.key.Store(key)
	free.Store(tag | (n + 1))
}

// size returns the number of records.
func (d *Denials) size() uint64 { return uint64(len(d.records)) }

// record returns record n.
func (d *Denials) record(n uint64) *denial { return &d.records[n&(d.size()-1)] }

// may reports whether a record may be made in the 10 ms of that number, and counts either.
func (l *denialLane) may(number uint64) bool {
	made := l.made.Load()
	if made>>8 != number {
		made = number << 8
	}
	if made&255 == newDenials {
		l.dropped.Add(1)
		return false
	}
	l.made.Store(made + 1) // two at once may count as a single record
	return true
}

// Dropped counts the denials that left no record. d may be nil.
func (d *Denials) Dropped() (n uint64) {
	if d != nil {
		for k := range d.lanes {
			n += d.lanes[k].dropped.Load()
		}
	}
	return n
}

// from yields the records from number n on, as far as they are kept, with their numbers.
func (d *Denials) from(n uint64) iter.Seq2[uint64, Denial] {
	end := d.next.Load()
	return func(yield func(uint64, Denial) bool) {
		for n = max(n, end-min(end, d.size())); n < end; n++ {
			r := d.record(n)
			key, when, sum, policy := r.key.Load(), r.when.Load(), r.sum.Load(), r.policy.Load()
			is := Denial{
				At:  window.Instant(when>>8) * window.Instant(time.Second),
				Why: mitigation.Why(when & 255), Times: sum >> costBits,
				cost: sum & (1<<costBits - 1), key: sketch.Index(key),
			}
			if policy != nil {
				is.Policy = *policy
			}
			if key != 0 && (r.key.Load() != key || r.when.Load() != when) {
				continue // taken for another while it was read
			}
			if !yield(n, is) {
				return
			}
		}
	}
}

// of returns the denials of the key with index i in steps, newest first.
func (d *Denials) of(i sketch.Index, steps []Step) (all []Denial) {
	lanes := map[Denial]int{} // each lane has a record
	for _, r := range d.from(0) {
		in := func(s Step) bool { return r.At >= s.From && r.At < s.From.Add(s.Each) }
		if r.key != i || !slices.ContainsFunc(steps, in) {
			continue
		}
		is := Denial{At: r.At, Why: r.Why, Policy: r.Policy}
		n, known := lanes[is]
		if !known {
			n = len(all)
			lanes[is], all = n, append(all, is)
		}
		all[n].Times += r.Times
	}
	slices.SortStableFunc(all, func(a, b Denial) int { return cmp.Compare(a.At, b.At) })
	slices.Reverse(all)
	return all
}
