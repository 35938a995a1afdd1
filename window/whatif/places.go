package whatif

import (
	"container/heap"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Places tries a stream of requests, each holding a place for a time, against all limits of
// requests under way at once. By the same observation as Exact: each request takes the lowest free
// seat, now until the end, and requests above seat L are the refusals of L.
type Places struct {
	keys    map[string]*hall
	seated  []int64 // requests on seat n+1
	all     int64
	leftOut int64 // requests of keys beyond MaxKeys
}

// NewPlaces returns a Places before the first request.
func NewPlaces() *Places { return &Places{keys: make(map[string]*hall)} }

// hall is a key: the seats held by requests.
type hall struct {
	taken leaving // by the moment at which seats are free
	free  lowest  // seats up to open that are not in use
	open  uint32  // highest seat in use or free
	peak  uint32  // highest seat ever
}

// Take adds a request of key from now for took. now never goes back.
func (p *Places) Take(now window.Instant, key []byte, took time.Duration) {
	p.all++
	h := p.keys[string(key)]
	if h == nil {
		if len(p.keys) >= MaxKeys {
			p.leftOut++
			return
		}
		h = &hall{}
		p.keys[string(key)] = h
	}
	seat := min(h.take(now, now.Add(took)), MaxSeat)
	for uint32(len(p.seated)) < seat { // at most MaxSeat
		p.seated = append(p.seated, 0)
	}
	p.seated[seat-1]++
}

// take seats a request from now until the end, and returns the number of the seat, from 1 on.
func (h *hall) take(now, until window.Instant) uint32 {
	for len(h.taken) > 0 && h.taken[0].at <= now {
		h.free.push(heap.Pop(&h.taken).(stay[uint32]).is) // the heap holds nothing else
	}
	if len(h.taken) == 0 {
		h.free, h.open = h.free[:0], 0
	}
	seat := h.open + 1
	if len(h.free) > 0 {
		seat = h.free.pop()
	} else {
		h.open++
	}
	heap.Push(&h.taken, stay[uint32]{until, seat})
	h.peak = max(h.peak, seat)
	return seat
}

// Requests returns how many requests were taken, and how many of those were left out for want of
// room.
func (p *Places) Requests() (taken, leftOut int64) { return p.all, p.leftOut }

// Keys returns how many keys were told apart.
func (p *Places) Keys() int { return len(p.keys) }

// Highest returns the least limit refusing nothing, or MaxSeat.
func (p *Places) Highest() int64 { return int64(len(p.seated)) }

// Row returns the refusals of limit.
func (p *Places) Row(limit int64) Row {
	r := Row{Limit: limit}
	for _, n := range p.seated[min(limit, int64(len(p.seated))):] {
		r.Requests += n
	}
	for _, h := range p.keys {
		if int64(h.peak) > limit {
			r.Keys++
		}
	}
	return r
}

// Least returns the least limit refusing no more than share of the requests, 0..1.
func (p *Places) Least(share float64) int64 {
	refused := int64(0)
	for limit := len(p.seated); limit > 1; limit-- {
		if refused += p.seated[limit-1]; refused > int64(share*float64(p.all)) {
			return int64(limit)
		}
	}
	return 1
}

// leaving is a heap of seats by the moment at which seats are free, for container/heap.
type leaving []stay[uint32]

// Len, Less, Swap, Push and Pop are container/heap's interface.

func (l leaving) Len() int           { return len(l) }
func (l leaving) Less(i, j int) bool { return l[i].at < l[j].at }
func (l leaving) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *leaving) Push(x any)        { *l = append(*l, x.(stay[uint32])) } // only take pushes

func (l *leaving) Pop() any {
	last := len(*l) - 1
	s := (*l)[last]
	*l = slices.Delete(*l, last, last+1)
	return s
}
