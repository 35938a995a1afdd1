package trial

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Bounds of an Exact.
const (
	// MaxKeys is how many keys are told apart, at about 200 bytes each and 16 for each of their requests in a window.
	// Requests of keys beyond it are left out, and counted.
	MaxKeys = 20_000_000
	// MaxSeat is the highest limit whose refusals are told apart from those of higher ones.
	MaxSeat = 1 << 20
)

// Rule is what is tried with other limits.
type Rule struct {
	Limit    int64         // the one it has
	Window   time.Duration // 1 s..24 h
	BlockFor time.Duration // 0: it sheds
}

// Exact tries a stream of requests, each of cost 1, against all limits at once, to the request. Rules that block are
// tried against the limits of Ladder only.
type Exact struct {
	rule    Rule
	tick    time.Duration
	limits  []int64 // tried by a rule that blocks
	newest  window.Instant
	shed    map[string]*seats
	block   map[string]*blocked
	seated  []int64 // requests by seat, from 1 on; by a rule that blocks: refused by limits[n]
	all     int64
	untold  int64
	peaks   []uint32 // of all keys, the lowest first; nil: to be taken anew
	highest uint32   // seat or limit that admits everything
}

// NewExact returns a trial of r that has seen nothing.
func NewExact(r Rule) *Exact {
	x := &Exact{rule: r, tick: window.Tick(r.Window)}
	if r.BlockFor > 0 {
		x.block, x.limits = make(map[string]*blocked), Ladder(r.Limit, maxTried)
		x.seated = make([]int64, len(x.limits))
	} else {
		x.shed = make(map[string]*seats)
	}
	return x
}

// Take adds a request of key at now. A now before an earlier one is read as the latest.
func (x *Exact) Take(now window.Instant, key []byte) {
	x.peaks = nil
	if rest := now % window.Instant(x.tick); now >= 0 { // as the exact slots round it
		now -= rest
	}
	x.newest = max(x.newest, now)
	x.all++
	if x.block != nil {
		x.takeBlock(key)
	} else {
		x.takeShed(key)
	}
}

func (x *Exact) takeShed(key []byte) {
	s := x.shed[string(key)]
	if s == nil {
		if len(x.shed) >= MaxKeys {
			x.untold++
			return
		}
		s = &seats{}
		x.shed[string(key)] = s
	}
	seat := min(s.take(x.newest, x.rule.Window), MaxSeat)
	for uint32(len(x.seated)) < seat { // at most MaxSeat
		x.seated = append(x.seated, 0)
	}
	x.seated[seat-1]++
	x.highest = max(x.highest, seat)
}

func (x *Exact) takeBlock(key []byte) {
	b := x.block[string(key)]
	if b == nil {
		if len(x.block) >= MaxKeys {
			x.untold++
			return
		}
		b = &blocked{}
		x.block[string(key)] = b
	}
	refused := b.take(x.newest, x.rule.Window, x.rule.BlockFor, x.limits)
	for n := range x.limits {
		x.seated[n] += int64(refused >> n & 1)
	}
	x.highest = max(x.highest, min(b.peak, MaxSeat))
}

// Row is what one limit refuses.
type Row struct {
	Limit    int64
	Requests int64 // refused
	Keys     int64 // refused at least once
}

// Requests returns how many were taken, and how many of those are left out for want of room.
func (x *Exact) Requests() (taken, untold int64) { return x.all, x.untold }

// Keys returns how many keys were told apart.
func (x *Exact) Keys() int { return len(x.shed) + len(x.block) }

// Highest returns the least limit that refuses nothing, or MaxSeat if even that does.
func (x *Exact) Highest() int64 { return int64(x.highest) }

// Row returns what limit refuses. Under a rule that blocks, limit must be one of those tried, or one that refuses nothing.
func (x *Exact) Row(limit int64) Row {
	r := Row{Limit: limit}
	if x.block != nil {
		if n, tried := slices.BinarySearch(x.limits, limit); tried {
			r.Requests = x.seated[n]
		}
	} else {
		for _, n := range x.seated[min(limit, int64(len(x.seated))):] {
			r.Requests += n
		}
	}
	all := x.sorted()
	first, _ := slices.BinarySearchFunc(all, limit, func(peak uint32, limit int64) int {
		if int64(peak) <= limit {
			return -1
		}
		return 1
	})
	r.Keys = int64(len(all) - first)
	return r
}

// sorted returns the peaks of all keys, the lowest first.
func (x *Exact) sorted() []uint32 {
	if x.peaks != nil {
		return x.peaks
	}
	x.peaks = make([]uint32, 0, x.Keys())
	for _, s := range x.shed {
		x.peaks = append(x.peaks, s.peak)
	}
	for _, b := range x.block {
		x.peaks = append(x.peaks, b.peak)
	}
	slices.Sort(x.peaks)
	return x.peaks
}

// Least returns the least limit that refuses no more than share of the requests, among those tried.
func (x *Exact) Least(share float64) int64 {
	most := int64(share * float64(x.all))
	if x.block != nil {
		for n, limit := range x.limits {
			if x.seated[n] <= most {
				return limit
			}
		}
		return x.Highest()
	}
	refused := int64(0)
	for limit := len(x.seated); limit > 1; limit-- {
		if refused += x.seated[limit-1]; refused > most {
			return int64(limit)
		}
	}
	return 1
}
