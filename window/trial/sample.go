package trial

import (
	"container/heap"
	"math"
	"slices"
	"unsafe"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Sample tries other limits on what a running node knows of its keys: of each, what it asked for in every slice of its
// window. It remembers a bounded number of them, those that priority sampling (Duffield, Lund and Thorup, 2007) picks:
// the keys of the highest peak/uniform stay, where uniform is a number between 0 and 1 that is a hash of the key. Keys
// that asked for much in a window are all among them, and each of the others stands for as many as it had to beat:
// threshold/peak. What only keys far above the threshold can do, as being refused by a limit there, is so known without an
// error of sampling. A key that was not remembered when it began to ask for much is known from what is in its window when
// it is looked at first, so its peak may be told too low, by less than the threshold.
type Sample struct {
	ladder
	room      int // in tries
	used      int
	keys      map[sketch.Index]*key
	order     priorities
	threshold float64
	low, high []float64 // cost that each limit refuses, at least and at most
	demand    float64   // cost of all keys
	late      uint64
}

// tryBytes is what a limit takes that a key has passed, and about what the key takes itself.
const tryBytes = int(unsafe.Sizeof(tried{}))

// ladder is what is tried: limits, and for how many slices after one they block.
type ladder struct {
	limits                []int64
	shortBlock, longBlock uint64
}

// NewSample returns a sample that tries limits around r's, and remembers as many keys as fit so many bytes, one at least:
// about 200 for each, and as much for each limit of the ladder that it passes. It has seen nothing.
func NewSample(r Rule, bytes int) *Sample {
	limits := Ladder(r.Limit, maxTried)
	s := &Sample{
		ladder: ladder{limits: limits}, room: bytes / tryBytes, keys: make(map[sketch.Index]*key),
		low: make([]float64, len(limits)), high: make([]float64, len(limits)),
	}
	if r.BlockFor > 0 {
		slice := r.Window / window.Slices
		s.shortBlock, s.longBlock = uint64(r.BlockFor/slice), uint64((r.BlockFor+slice-1)/slice)+1
	}
	return s
}

// Take takes in what a key asked for. Each key is to be told of while there is anything in its window, and again before
// as much time has passed as window.ToldSlices cover.
func (s *Sample) Take(d *window.Demand) {
	asked := uint64(0)
	for _, cost := range d.Cost {
		asked += cost
	}
	k := s.key(d, asked)
	if k == nil {
		return
	}
	if d.Fresh > window.ToldSlices {
		s.late++
	}
	fresh := d.Newest + 1 - uint64(min(d.Fresh, window.ToldSlices))
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

// key returns what is remembered of d's key, which asked for so much, or nil if it is not in the sample.
func (s *Sample) key(d *window.Demand, asked uint64) *key {
	k := s.keys[d.Index]
	if k != nil || asked == 0 {
		return k
	}
	uniform := (float64(d.Index>>11) + 0.5) / (1 << 53)
	if s.threshold > 0 && float64(asked)/uniform <= s.threshold {
		return nil
	}
	return &key{index: d.Index, uniform: uniform, at: newKey}
}

// rank puts k where it belongs now.
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
	s.used, k.size = s.used+size-k.size, size
	s.fit()
}

// Resize makes s remember no more than fits so many bytes, as NewSample has it. Room that it gets is for keys to come.
func (s *Sample) Resize(bytes int) {
	s.room = bytes / tryBytes
	s.fit()
}

// fit keeps the sample within its room.
func (s *Sample) fit() {
	for s.used > s.room && len(s.order) > 1 {
		gone := heap.Pop(&s.order).(*key) // the heap holds nothing else
		delete(s.keys, gone.index)
		s.used -= gone.size
		s.threshold = max(s.threshold, gone.priority)
	}
}

// Range is between what and what a figure lies.
type Range struct{ Low, High float64 }

// Estimate is what one limit would have refused.
type Estimate struct {
	Limit int64
	Cost  Range
	Keys  Range   // refused at least once
	Error float64 // standard error of sampling beyond the ranges, as a share of Keys.High; 0: none
}

// Estimates returns what each limit that was tried would have refused, the lowest first, up to the first that would have
// refused nothing.
func (s *Sample) Estimates() []Estimate {
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
	for n := last; n >= 0; n-- { // who passed one limit has passed all below
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

// Keys returns about how many keys there were, with its standard error as a share of them; 0: all are remembered.
func (s *Sample) Keys() (about, err float64) {
	variance := 0.0
	for _, k := range s.order {
		weight := max(1, s.threshold/float64(k.high))
		about += weight
		variance += weight * (weight - 1)
	}
	return about, math.Sqrt(variance) / max(1, about)
}

// passed returns the place of the highest limit below peak, -1: there is none.
func (s *Sample) passed(peak uint64) int {
	n, _ := slices.BinarySearch(s.limits, int64(peak)) // at most 21 times 2^32
	return n - 1
}

// Demand returns the cost that all keys asked for, as the sample has it.
func (s *Sample) Demand() float64 { return s.demand }

// Size returns how many keys are remembered, and from which peak on all keys are; 0: all keys there are. Of what a key asked
// for in a window, one of two looks sees half.
func (s *Sample) Size() (keys int, allFrom float64) { return len(s.keys), 2 * s.threshold }

// Late returns how often a key was told of so late that slices of its went by unseen.
func (s *Sample) Late() uint64 { return s.late }

// newKey is the place of a key that is not in the heap yet.
const newKey = -1

// priorities is a heap of keys, the lowest priority on top, for container/heap.
type priorities []*key

// Len, Less, Swap, Push and Pop are what container/heap asks for.

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
