package demo

import (
	"sync"
	"time"
)

const (
	// demoBin is the resolution in time of the answers kept.
	demoBin = 50 * time.Millisecond
	// demoBins is how many bins a second has.
	demoBins = int(time.Second / demoBin)
)

// demoTally counts answers.
type demoTally struct{ asked, admitted, refused, unanswered int }

func (t demoTally) plus(o demoTally) demoTally {
	return demoTally{t.asked + o.asked, t.admitted + o.admitted, t.refused + o.refused, t.unanswered + o.unanswered}
}

// demoFlow counts the answers to one client, or to many, by PoP and time. It remembers a given number of bins,
// and the totals of all. It may be used concurrently.
type demoFlow struct {
	mu     sync.Mutex
	bins   [len(demoPoPs)][]demoBinTally
	totals [len(demoPoPs)]demoTally
}

// demoBinTally is a tally and the number of its bin, since the beginning.
type demoBinTally struct {
	demoTally
	number int
}

func newDemoFlow(bins int) *demoFlow {
	f := &demoFlow{}
	for pop := range f.bins {
		f.bins[pop] = make([]demoBinTally, bins)
	}
	return f
}

// note adds to a bin. What is older than those that are remembered only counts among the totals.
func (f *demoFlow) note(pop, bin int, t demoTally) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.totals[pop] = f.totals[pop].plus(t)
	slot := &f.bins[pop][bin%len(f.bins[pop])]
	if slot.number > bin {
		return
	}
	if slot.number < bin {
		*slot = demoBinTally{number: bin}
	}
	slot.demoTally = slot.plus(t)
}

// at returns the answers of a PoP in the bins from the first given to before the second.
func (f *demoFlow) at(pop, from, to int) (sum demoTally) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for bin := max(0, from); bin < to; bin++ {
		if slot := &f.bins[pop][bin%len(f.bins[pop])]; slot.number == bin {
			sum = sum.plus(slot.demoTally)
		}
	}
	return sum
}

// all is at over all PoPs.
func (f *demoFlow) all(from, to int) (sum demoTally) {
	for pop := range f.bins {
		sum = sum.plus(f.at(pop, from, to))
	}
	return sum
}

// total returns the answers of a PoP so far.
func (f *demoFlow) total(pop int) demoTally {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.totals[pop]
}

// everything returns all answers so far.
func (f *demoFlow) everything() (sum demoTally) {
	for pop := range f.bins {
		sum = sum.plus(f.total(pop))
	}
	return sum
}

// shares returns the admitted rate of each whole second from bin from on, as a share of the limit a second.
func (f *demoFlow) shares(from, to int, limit float64) (all []float64) {
	for ; from+demoBins <= to; from += demoBins {
		all = append(all, float64(f.all(from, from+demoBins).admitted)/limit)
	}
	return all
}

// demoNear bounds the distance of the admitted rate from the limit.
const demoNear = 0.05

// near reports whether a share of the limit is within demoNear of it.
func near(share float64) bool { return share >= 1-demoNear && share <= 1+demoNear }

// settled returns how long after bin from the first second began of which about the limit was admitted, wherever it begins;
// false when there is none before bin to.
func (f *demoFlow) settled(from, to int, limit float64) (time.Duration, bool) {
	for at := from; at+demoBins <= to; at++ {
		if near(float64(f.all(at, at+demoBins).admitted) / limit) {
			return time.Duration(at-from) * demoBin, true
		}
	}
	return 0, false
}

// binOf returns the number of the bin of a time since the beginning.
func binOf(t time.Duration) int { return int(t / demoBin) }
