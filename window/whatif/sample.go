package whatif

import (
	"container/heap"
	"math"
	"slices"
	"unsafe"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Sample tries other limits on the known demand of a running node's keys: the cost of each key in
// every slice of a window. A Sample remembers a bounded number of keys, chosen by priority sampling
// (Duffield, Lund and Thorup, 2007). The keys of the highest
//
//	priority = peak / uniform
//
// stay, where uniform is a hash of the key between 0 and 1. All keys that asked for much in a
// window are among them. Each of the others stands for max(1, threshold/peak) keys. So figures that
// only keys far above the threshold can change, such as the refusals of a limit there, have no
// sampling error.
//
// A key not remembered at the begin of much demand is known from the window of the first look. The
// peak may be too low, by less than the threshold.
type Sample struct {
	ladder
	room      int // memory allowed, in units of a tried
	used      int // memory in use, likewise
	keys      map[sketch.Index]*key
	order     priorities
	threshold float64   // highest priority that was ever left out, cost
	low, high []float64 // bounds of the cost each limit refuses
	demand    float64   // cost of all keys
	late      uint64    // demands that came too late to cover every slice
}

// tryBytes is the memory of a limit passed by a key, and about the memory of the key itself.
const tryBytes = int(unsafe.Sizeof(tried{}))

// ladder is the set of limits tried. A limit refusing blocks for shortBlock slices at least and
// longBlock at most; 0: the rule sheds.
type ladder struct {
	limits                []int64
	shortBlock, longBlock uint64
	offered               bool // cost a limit refuses counts as well
	rule                  Rule
}

// NewSample returns an empty sample trying limits around r's, for as many keys as bytes permit, one
// at least: about 200 bytes a key, and as much for each limit of the ladder the key passes.
func NewSample(r Rule, bytes int) *Sample {
	s := &Sample{ladder: ladder{offered: r.Offered, rule: r}, room: bytes / tryBytes}
	if r.BlockFor > 0 {
		slice := r.Window / window.Slices
		s.shortBlock, s.longBlock = uint64(r.BlockFor/slice), uint64((r.BlockFor+slice-1)/slice)+1
	}
	return s
}

// begin makes the ladder, with the first key or look: of the thousands of limits a file can hold
// most have none.
func (s *Sample) begin() {
	if s.keys == nil {
		s.limits, s.keys = Ladder(s.rule.own(), maxTried), make(map[sketch.Index]*key)
		s.low, s.high = make([]float64, len(s.limits)), make([]float64, len(s.limits))
	}
}

// Take adds a key's demand. Each key must be taken while the window is not empty, and again within
// window.WholeSlices slices.
func (s *Sample) Take(d *window.Demand) {
	s.begin()
	asked := uint64(0)
	for _, cost := range d.Cost {
		asked += cost
	}
	k := s.key(d.Index, asked)
	if k == nil {
		return
	}
	if d.Fresh > window.WholeSlices {
		s.late++
	}
	fresh := d.Newest + 1 - uint64(min(d.Fresh, window.WholeSlices))
	weight := max(1, s.threshold/float64(max(k.high, asked)))
	k.skip(d.Newest + 1 - uint64(len(d.Cost)))
	for k.next <= d.Newest {
		cost, counts := d.Cost[d.Newest-k.next], weight
		if k.next < fresh { // another key stood for it
			counts = 0
		}
		s.demand += counts * float64(cost)
		k.slice(cost, &s.ladder, func(limit int, low, high uint64) {
			s.low[limit] += counts * float64(low)
			s.high[limit] += counts * float64(high)
		})
	}
	s.rank(k)
}

// key returns the memory of the key with index i, which asked for so much, or nil if not in the
// sample.
func (s *Sample) key(index sketch.Index, asked uint64) *key {
	k := s.keys[index]
	if k != nil || asked == 0 {
		return k
	}
	uniform := (float64(index>>11) + 0.5) / (1 << 53)
	if s.threshold > 0 && float64(asked)/uniform <= s.threshold {
		return nil
	}
	return &key{index: index, uniform: uniform, at: newKey}
}

// rank moves k to the right place in the order and in the sample.
func (s *Sample) rank(k *key) {
	priority := float64(k.high) / k.uniform
	switch {
	case k.at == newKey:
		k.priority = priority
		s.keys[k.index] = k
		heap.Push(&s.order, k)
	case priority != k.priority:
		k.priority = priority
		heap.Fix(&s.order, k.at)
	}
	size := 1 + len(k.tries)
	if k.bucket != nil {
		size += len(k.bucket.tries) * tankBytes / tryBytes
	}
	s.used, k.size = s.used+size-k.size, size
	s.fit()
}

// Resize changes the memory to bytes, as in NewSample. Room gained is for keys to come.
func (s *Sample) Resize(bytes int) {
	s.room = bytes / tryBytes
	s.fit()
}

// fit drops the keys of the lowest priority until the sample fits.
func (s *Sample) fit() {
	for s.used > s.room && len(s.order) > 1 {
		gone := heap.Pop(&s.order).(*key) // the heap holds nothing else
		delete(s.keys, gone.index)
		s.used -= gone.size
		s.threshold = max(s.threshold, gone.priority)
	}
}

// Range is the lower and the upper bound of a figure.
type Range struct{ Low, High float64 }

// Estimate is the cost and the keys a limit would have refused.
type Estimate struct {
	Limit int64
	Cost  Range
	Keys  Range // refused at least once
	// standard error of sampling beyond the ranges, as a fraction of Keys.High; 0: none
	Error float64
}

// Estimates returns the refusals of each limit tried, lowest first, up to the first without
// refusals.
func (s *Sample) Estimates() []Estimate {
	s.begin()
	last := len(s.limits) - 1
	all, variance := make([]Estimate, last+1), make([]float64, last+1)
	for _, k := range s.order {
		weight := max(1, s.threshold/float64(k.high))
		if n := s.passed(k.high); n >= 0 {
			all[n].Keys.High += weight
			variance[n] += weight * (weight - 1)
		}
		if n := s.passed(k.low); n >= 0 {
			all[n].Keys.Low += weight
		}
	}
	for n := last; n >= 0; n-- { // a key that passed one limit has passed all below
		e := &all[n]
		e.Limit, e.Cost = s.limits[n], Range{s.low[n], s.high[n]}
		if n < last {
			e.Keys.Low, e.Keys.High = e.Keys.Low+all[n+1].Keys.Low, e.Keys.High+all[n+1].Keys.High
			variance[n] += variance[n+1]
		}
		if e.Keys.High > 0 {
			e.Error = math.Sqrt(variance[n]) / e.Keys.High
		} else if e.Cost.High == 0 {
			all = all[:n+1]
		}
	}
	return all
}

// Keys returns about how many keys there were, and the standard error as a fraction of that; 0: all
// are remembered.
func (s *Sample) Keys() (about, err float64) {
	variance := 0.0
	for _, k := range s.order {
		weight := max(1, s.threshold/float64(k.high))
		about += weight
		variance += weight * (weight - 1)
	}
	return about, math.Sqrt(variance) / max(1, about)
}

// passed returns the index of the highest limit below peak; -1: there is none.
func (s *Sample) passed(peak uint64) int {
	n, _ := slices.BinarySearch(s.limits, int64(peak)) // at most 21 times 2^32
	return n - 1
}

// Demand returns the cost all keys asked for, by the sample.
func (s *Sample) Demand() float64 { return s.demand }

// Size returns how many keys are remembered, and the peak from which all keys are; 0: all keys
// there are. The peak is twice the threshold, because either of two looks sees at least half of a
// window's cost.
func (s *Sample) Size() (keys int, allFrom float64) { return len(s.keys), 2 * s.threshold }

// Late returns how many demands came so late that slices went by unseen.
func (s *Sample) Late() uint64 { return s.late }

// newKey is the place of a key not in the heap yet.
const newKey = -1

// priorities is a heap of keys, lowest priority on top, for container/heap.
type priorities []*key

// Len, Less, Swap, Push and Pop are container/heap's interface.

func (p priorities) Len() int           { return len(p) }
func (p priorities) Less(i, j int) bool { return p[i].priority < p[j].priority }
func (p priorities) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	p[i].at, p[j].at = i, j
}

func (p *priorities) Push(x any) {
	k := x.(*key) // only rank pushes
	k.at = len(*p)
	*p = append(*p, k)
}

func (p *priorities) Pop() any {
	last := len(*p) - 1
	k := (*p)[last]
	*p = (*p)[:last]
	return k
}
