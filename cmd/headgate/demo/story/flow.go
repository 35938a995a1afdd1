package story

import (
	"sync"
	"time"
)

// The answers to the clients are counted here, and added up to the result of
// the demo.
//
//	answers ──Note──► Flow: by PoP and time ──► Record: round by round ──► Summary
//	                     └──► the last second, for the screen

// BinsASecond is the number of bins of a second.
const BinsASecond = int(time.Second / Bin)

// BinOf returns the number of the bin of a time since the story began.
func BinOf(t time.Duration) int { return int(t / Bin) }

// Tally counts the answers to requests.
type Tally struct {
	Asked, Admitted, Denied, Unanswered int
	// the longest, from when a request was due to the answer
	Delay time.Duration
}

// Plus returns the sums of both, and the longer delay.
func (t Tally) Plus(o Tally) Tally {
	return Tally{
		t.Asked + o.Asked, t.Admitted + o.Admitted, t.Denied + o.Denied,
		t.Unanswered + o.Unanswered, max(t.Delay, o.Delay),
	}
}

// flow counts the answers to a client, or to many, by PoP and time. A Flow remembers a number of
// bins, and the totals of all. Safe for concurrent use.
type flow struct {
	mu     sync.Mutex
	bins   [len(PoPs)][]binTally
	totals [len(PoPs)]Tally
}

// binTally is a tally and the number of the bin, since the story began.
type binTally struct {
	Tally
	number int
}

// newFlow returns a flow with memory of bins bins.
func newFlow(bins int) *flow {
	f := &flow{}
	for pop := range f.bins {
		f.bins[pop] = make([]binTally, bins)
	}
	return f
}

// Note adds to a bin. A bin older than those remembered counts only in the totals.
func (f *flow) Note(pop, bin int, t Tally) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.totals[pop] = f.totals[pop].Plus(t)
	slot := &f.bins[pop][bin%len(f.bins[pop])]
	if slot.number > bin {
		return
	}
	if slot.number < bin {
		*slot = binTally{number: bin}
	}
	slot.Tally = slot.Plus(t)
}

// At returns the answers of a PoP in the bins from the first given to before the second.
func (f *flow) At(pop, from, to int) (sum Tally) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for bin := max(0, from); bin < to; bin++ {
		if slot := &f.bins[pop][bin%len(f.bins[pop])]; slot.number == bin {
			sum = sum.Plus(slot.Tally)
		}
	}
	return sum
}

// All is At over all PoPs.
func (f *flow) All(from, to int) (sum Tally) {
	for pop := range f.bins {
		sum = sum.Plus(f.At(pop, from, to))
	}
	return sum
}

// Total returns the answers of a PoP so far.
func (f *flow) Total(pop int) Tally {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.totals[pop]
}

// Everything returns all answers so far.
func (f *flow) Everything() (sum Tally) {
	for pop := range f.bins {
		sum = sum.Plus(f.Total(pop))
	}
	return sum
}

// Shares returns the admitted rate of each whole second from bin from to before bin to, in limits:
// 1 is all of the limit.
func (f *flow) Shares(from, to int) (all []float64) {
	for ; from+BinsASecond <= to; from += BinsASecond {
		all = append(all, share(f.All(from, from+BinsASecond).Admitted))
	}
	return all
}

// Offered is Shares of the requests sent, admitted or not.
func (f *flow) Offered(from, to int) (all []float64) {
	for ; from+BinsASecond <= to; from += BinsASecond {
		all = append(all, share(f.All(from, from+BinsASecond).Asked))
	}
	return all
}

func share(requests int) float64 { return float64(requests) / Limit }

// Tolerance is the distance from the limit, as a share, within which an admitted rate is about the
// limit.
const Tolerance = 0.05

// Near reports whether a share of the limit is within Tolerance of 1.
func Near(share float64) bool { return share >= 1-Tolerance && share <= 1+Tolerance }

// settled returns the time from bin from to the beginning of the first second of which about the
// limit was admitted, at any begin; false when there is none before bin to.
func (f *flow) settled(from, to int) (time.Duration, bool) {
	for at := from; at+BinsASecond <= to; at++ {
		if Near(share(f.All(at, at+BinsASecond).Admitted)) {
			return time.Duration(at-from) * Bin, true
		}
	}
	return 0, false
}
