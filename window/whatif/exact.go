package whatif

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Bounds of an Exact.
const (
	// MaxKeys is how many keys are told apart, at about 200 bytes each and 16 for each of their
	// requests in a window. Requests of further keys are left out, and counted.
	MaxKeys = 20_000_000
	// MaxSeat is the highest limit whose refusals are told apart from higher limits'.
	MaxSeat = 1 << 20
)

// Rule is the rule tried with other limits.
type Rule struct {
	Limit    int64         // cost per window, its own
	Window   time.Duration // 1 s..24 h
	BlockFor time.Duration // 0: it sheds
	Offered  bool          // of a window: refused cost counts as well
	Burst    int64         // above 0: a bucket of so much, its own, that gets Limit per Window back
	Delay    time.Duration // of a bucket: a request waits up to so long for its tokens
}

// own returns the number others are tried in place of: the limit, of a bucket the burst.
func (r *Rule) own() int64 {
	if r.Burst > 0 {
		return r.Burst
	}
	return r.Limit
}

// Exact tries a stream of requests, each of cost 1, against all limits at once, exact to the
// request. A blocking rule is tried against the limits of Ladder only.
type Exact struct {
	rule   Rule
	tick   time.Duration
	limits []int64                // tried, for a blocking rule
	newest window.Instant         // time of the newest request
	shed   map[string]*admitQueue // by key, for a shedding rule
	block  map[string]*blocked    // by key, for a blocking rule
	// seated[n] counts requests on seat n+1; for a blocking rule, refused by limits[n]
	seated  []int64
	all     int64    // requests taken
	leftOut int64    // requests of keys beyond MaxKeys
	peaks   []uint32 // of all keys, lowest first; nil: out of date
	highest uint32   // least seat or limit that admits everything
}

// NewExact returns an Exact of r before the first request.
func NewExact(r Rule) *Exact {
	x := &Exact{rule: r, tick: window.Tick(r.Window)}
	if r.BlockFor > 0 {
		x.block, x.limits = make(map[string]*blocked), Ladder(r.Limit, maxTried)
		x.seated = make([]int64, len(x.limits))
	} else {
		x.shed = make(map[string]*admitQueue)
	}
	return x
}

// Take adds a request of key at now. A now before an earlier is read as the latest.
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

// takeShed is Take for a shedding rule.
func (x *Exact) takeShed(key []byte) {
	s := x.shed[string(key)]
	if s == nil {
		if len(x.shed) >= MaxKeys {
			x.leftOut++
			return
		}
		s = &admitQueue{}
		x.shed[string(key)] = s
	}
	seat := s.take(x.newest, x.rule.Window)
	if x.rule.Offered { // whoever asks too soon takes a seat as well, behind all who asked before
		seat = uint32(min(s.taken.len(), MaxSeat))
		s.peak = max(s.peak, seat)
	}
	seat = min(seat, MaxSeat)
	for uint32(len(x.seated)) < seat { // at most MaxSeat
		x.seated = append(x.seated, 0)
	}
	x.seated[seat-1]++
	x.highest = max(x.highest, seat)
}

// takeBlock is Take for a blocking rule.
func (x *Exact) takeBlock(key []byte) {
	b := x.block[string(key)]
	if b == nil {
		if len(x.block) >= MaxKeys {
			x.leftOut++
			return
		}
		b = &blocked{}
		x.block[string(key)] = b
	}
	refused := b.take(x.newest, &x.rule, x.limits)
	for n := range x.limits {
		x.seated[n] += int64(refused >> n & 1)
	}
	x.highest = max(x.highest, min(b.peak, MaxSeat))
}

// Row is the part of the requests refused by a limit.
type Row struct {
	Limit    int64
	Requests int64 // refused
	Keys     int64 // refused at least once
	Waits    int64 // of a bucket with a delay: requests it lets pass later
}

// Requests returns how many requests were taken, and how many of those were left out for want of
// room.
func (x *Exact) Requests() (taken, leftOut int64) { return x.all, x.leftOut }

// Keys returns how many keys were told apart.
func (x *Exact) Keys() int { return len(x.shed) + len(x.block) }

// Highest returns the least limit refusing nothing, or MaxSeat.
func (x *Exact) Highest() int64 { return int64(x.highest) }

// Row returns the refusals of limit. For a blocking rule, limit must be of Ladder, or without
// refusals.
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

// sorted returns the peaks of all keys, lowest first.
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

// Least returns the least limit, among the tried, refusing no more than share of the requests,
// 0..1.
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
