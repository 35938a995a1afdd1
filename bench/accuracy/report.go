package main

import (
	"fmt"
	"io"

	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/window"
)

// Bounds that the accuracy mode must reach. A classification is wrong when the estimate is above
// the limit and the truth is not, or the other way round. A run that misses one of them exits with
// 1; no bound follows what a run happened to reach.
const (
	// Calm traffic has hardly any source near its limit, where alone an estimate can be on the
	// wrong side of it.
	mayBeWrongCalm  = 0.0003 / 100 // share of requests
	mayBeWrongOther = 0.001 / 100
	mayRateError    = 0.01
	mayBeMissed     = 1.07 // limits that a false negative may reach
	lowestDeny      = 0.98 // of the limit, for limits above exactUpTo
	highestAllow    = 1.02 // of the limit, or one unit
	exactUpTo       = 256  // limits up to here: nothing wrong once settled
	mayGrow         = 1.05 // resident size after 100 M keys, to that after 1 M
)

// check is one demand and whether it is met.
type check struct {
	what string
	met  bool
}

// demands lists the bounds, each with the value of the run.
func (a *accuracy) demands() []check {
	if a.Score == nil {
		return nil
	}
	c, k := &a.Score.Classification, &a.Score.Keys
	mayBeWrong := mayBeWrongOther
	if a.Traffic == "calm" {
		mayBeWrong = mayBeWrongCalm
	}
	// max keeps a run without judged requests at 0 of 0, instead of not a number, which is below no
	// bound.
	wrong := float64(c.WrongOver+c.WrongUnder) / float64(max(c.Judged, 1))
	return []check{
		{fmt.Sprintf("classification wrong < %.4f %%", 100*mayBeWrong), wrong < mayBeWrong},
		{fmt.Sprintf("rate error < %.0f %%", 100*mayRateError), c.RateError < mayRateError},
		{"no false positive", k.FalsePositives == 0},
		{
			fmt.Sprintf("no false negative above %.2f of the limit", mayBeMissed),
			k.WorstMissed <= mayBeMissed,
		},
		{"enforcement, once a key has been a suspect for a window", a.enforced()},
	}
}

// enforced reports whether settled keys were held to their limit: exactly up to exactUpTo, within
// lowestDeny and highestAllow above it.
// A limit of 1,000 is counted in units of cost above 1, so one unit may be wrong; up to 256 there
// are none.
func (a *accuracy) enforced() bool {
	e := &a.Score.Settled
	if a.Limit <= exactUpTo {
		return e.WrongDeny+e.WrongAllow == 0
	}
	unit := 1 / float64(a.Limit)
	return (e.WrongDeny == 0 || e.WorstDeny >= lowestDeny) &&
		e.WorstAllow <= max(highestAllow, 1+unit)
}

// passed reports whether the run met every bound; without exact logs there are none.
func (a *accuracy) passed() bool {
	for _, d := range a.demands() {
		if !d.met {
			return false
		}
	}
	return true
}

func (a *accuracy) print(w io.Writer) {
	fmt.Fprintf(w, "%s traffic, seed %d: %d requests of %d sources, %.0f/s; limit %d per %.0f s; memory %d MiB; %s\n",
		a.Traffic, a.Seed, a.Requests, sourceCount, a.PerSecond, a.Limit, a.Window,
		a.Memory/mib, a.GoVersion)
	a.Census.print(w)
	printNode(w, &a.Node)
	fmt.Fprintf(w, "speed       %.1f ns a decision, sweeps included (%.2f M/s, one goroutine)",
		a.Decide, 1e3/a.Decide)
	if a.Score != nil {
		fmt.Fprintf(w, "; %.1f ns with traffic and exact logs", a.WithOracle)
	}
	fmt.Fprintf(w, "\nresident    %.1f MiB grown by the node\n", float64(a.Resident)/mib)
	if a.Score == nil {
		return
	}
	printScore(w, a.Score)
	for _, d := range a.demands() {
		fmt.Fprintf(w, "%s  %s\n", verdict(d.met), d.what)
	}
}

// One word in capitals, so that scripts can look for FAIL.
func verdict(met bool) string {
	if met {
		return "PASS"
	}
	return "FAIL"
}

// print writes how many sources are above each share of the limit L.
func (c *census) print(w io.Writer) {
	fmt.Fprintf(w, "sources     mean rate above L/16 %d, L/10 %d, L/8 %d, L/4 %d, L/2 %d, L %d; within 10 %% of L %d\n",
		c.Above16th, c.Above10th, c.Above8th, c.Above4th, c.AboveHalf, c.Above, c.Near)
	fmt.Fprintf(w, "            base %.0f/s, %d attackers\n", c.Base, c.Attackers)
}

// printNode writes how full the node was: slots, logs, and the sketch's error bound, in units.
// A verdict means little without it: a node with slots to spare was not tried.
func printNode(w io.Writer, s *window.Stats) {
	fmt.Fprintf(w, "node        %d of %d slots, %d of %d chunks, promotion mark L/%d\n",
		s.Suspects, s.Slots, s.Chunks, s.ChunkCap, s.Divisor)
	fmt.Fprintf(w, "            promoted %d, evicted idle %d, spare %d, value %d, pinned %d; slots full %d, arena full %d\n",
		s.Promoted, s.EvictedIdle, s.EvictedSpare, s.EvictedValue, s.EvictedPinned,
		s.Full, s.ArenaFull)
	for _, l := range s.Layers {
		fmt.Fprintf(w, "            error bound %.1f units at %.1f %%, noise p50 %d, p99 %d\n",
			l.ErrorBound, 100*l.Confidence, l.NoiseMedian, l.NoiseP99)
	}
}

// printScore writes the judgement of all requests, of keys, and of settled keys.
func printScore(w io.Writer, s *oracle.Score) {
	c, k := &s.Classification, &s.Keys
	wrong := c.WrongOver + c.WrongUnder
	fmt.Fprintf(w, "classified  %d judged, %.2f %% over; wrong %d = %.7f %% (over %d, under %d)\n",
		c.Judged, share(c.Over, c.Judged), wrong, share(wrong, c.Judged), c.WrongOver, c.WrongUnder)
	fmt.Fprintf(w, "            rate error %.4f %% over %d requests above L/10\n",
		100*c.RateError, c.Rated)
	fmt.Fprintf(w, "keys        %d, ever over %d; false positives %d, false negatives %d (worst %.3f L)\n",
		k.Seen, k.Over, k.FalsePositives, k.FalseNegatives, k.WorstMissed)
	printEnforcement(w, "enforced    ", &s.Enforcement)
	printEnforcement(w, "  settled   ", &s.Settled)
}

func printEnforcement(w io.Writer, name string, e *oracle.Enforcement) {
	fmt.Fprintf(w, "%s%d judged; wrong deny %d = %.7f %% (worst %.3f L), wrong allow %d = %.7f %% (worst %.3f L), outside 2 %% and a unit %d\n",
		name, e.Judged, e.WrongDeny, share(e.WrongDeny, e.Judged), e.WorstDeny,
		e.WrongAllow, share(e.WrongAllow, e.Judged), e.WorstAllow, e.Outside)
}

// share is part of whole in percent.
// Of nothing it is 0.
func share(part, whole int64) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
