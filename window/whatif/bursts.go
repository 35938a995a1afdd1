package whatif

import (
	"math/bits"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/bucket"
)

// Bursts tries a stream of requests, each of cost 1, against buckets of the same refill and delay
// and many bursts: the bursts of Ladder filling within a day. A bucket never empty for a key has
// admitted all, so only bursts passed by the key are followed singly.
type Bursts struct {
	rule    Rule
	bursts  []int64 // tried, lowest first
	buckets []bucket.Bucket
	keys    map[string]*poured
	refused []int64 // requests, by burst
	waits   []int64 // requests let pass later, by burst
	struck  []int64 // keys refused at least once, by burst
	all     int64
	leftOut int64 // requests of keys beyond MaxKeys
}

// maxFill is the longest time in which an empty bucket may fill.
const maxFill = 24 * time.Hour

// poured is a key under buckets of many bursts.
type poured struct {
	endless bucket.TAT // of a bucket refusing nothing
	passed  []follow   // of the bursts the key has passed, or is about to, lowest first
	struck  uint64     // bursts that refused the key something, a bit each
}

// follow is a key under a burst.
type follow struct {
	tat   bucket.TAT
	until window.Instant // for which a block stands
}

// NewBursts returns a Bursts trying bursts around r's, a bucket, before the first request.
func NewBursts(r Rule) *Bursts {
	x := &Bursts{rule: r, keys: make(map[string]*poured)}
	for _, burst := range Ladder(r.Burst, maxTried) {
		if b, ok := bucket.New(r.Limit, r.Window, burst); ok && b.FillTime() <= maxFill {
			x.bursts, x.buckets = append(x.bursts, burst), append(x.buckets, b)
		}
	}
	x.refused, x.waits, x.struck = make([]int64, len(x.bursts)), make([]int64, len(x.bursts)),
		make([]int64, len(x.bursts))
	return x
}

// Take adds a request of key at now. now never goes back.
func (x *Bursts) Take(now window.Instant, key []byte) {
	x.all++
	p := x.keys[string(key)]
	if p == nil {
		if len(x.keys) >= MaxKeys {
			x.leftOut++
			return
		}
		p = &poured{}
		x.keys[string(key)] = p
	}
	x.open(p, int64(now))
	refused := uint64(0)
	for n := range p.passed {
		f := &p.passed[n]
		if now < f.until {
			x.refused[n]++
			refused |= 1 << n
			continue
		}
		wait, next, ok := x.buckets[n].Reserve(f.tat, int64(now), 1, x.rule.Delay)
		switch f.tat = next; {
		case !ok:
			x.refused[n]++
			refused |= 1 << n
			f.until = now.Add(x.rule.BlockFor)
		case wait > 0:
			x.waits[n]++
		}
	}
	for fresh := refused &^ p.struck; fresh != 0; fresh &= fresh - 1 {
		x.struck[bits.TrailingZeros64(fresh)]++
	}
	p.struck |= refused
	b := &x.buckets[len(x.buckets)-1]
	p.endless = b.Add(p.endless, int64(now), 1, latest)
}

// latest is a TAT beyond reach: the year 2262.
const latest = 1<<63 - 1<<40

// open begins to follow the bursts another request might pass.
func (x *Bursts) open(p *poured, now int64) {
	b := &x.buckets[0]
	taken := int64(b.Full(p.endless, now)/b.Token()) + 2 // at least what another request makes it
	for n := len(p.passed); n < len(x.bursts) && x.bursts[n] < taken; n++ {
		p.passed = append(p.passed, follow{tat: p.endless})
	}
}

// Requests returns how many requests were taken, and how many of those were left out for want of
// room.
func (x *Bursts) Requests() (taken, leftOut int64) { return x.all, x.leftOut }

// Keys returns how many keys were told apart.
func (x *Bursts) Keys() int { return len(x.keys) }

// Highest returns the least burst refusing nothing, or the tried highest.
func (x *Bursts) Highest() int64 { return x.Least(0) }

// Row returns the refusals of burst, of Ladder, or without refusals.
func (x *Bursts) Row(burst int64) Row {
	r := Row{Limit: burst}
	if n, tried := slices.BinarySearch(x.bursts, burst); tried {
		r.Requests, r.Keys, r.Waits = x.refused[n], x.struck[n], x.waits[n]
	}
	return r
}

// Least returns the least burst, among the tried, refusing no more than share of the requests,
// 0..1; the highest where none does.
func (x *Bursts) Least(share float64) int64 {
	for n, burst := range x.bursts {
		if x.refused[n] <= int64(share*float64(x.all)) {
			return burst
		}
	}
	return x.bursts[len(x.bursts)-1]
}
