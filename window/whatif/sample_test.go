package whatif_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/whatif"
)

// node counts a stream by one rule as the daemon does, and looks at its keys twice a window.
type node struct {
	counter *window.Counter
	meter   *window.Meter
	sample  *whatif.Sample
	rule    whatif.Rule
	half    time.Duration // of the window
	enough  int           // looks in two windows
	looked  window.Instant
	refused int64
}

func newNode(t testing.TB, rule whatif.Rule, bytes int, start window.Instant) *node {
	t.Helper()
	memory := 8 << 20
	if rule.Burst > 0 { // each look sweeps it
		memory = 512 << 10
	}
	c := window.NewCounter(memory)
	c.Configure([]window.Limit{{
		Name: "r", Limit: rule.Limit, Window: rule.Window,
		Burst: rule.Burst, Delay: rule.Delay, CountDenied: rule.Offered,
	}})
	half, enough := rule.Window/2, 4
	if rule.Burst > 0 { // as often as a node looks at a bucket
		half = rule.Window * time.Duration(rule.Burst) / time.Duration(rule.Limit) / window.Slices
		enough = 2 * window.Slices
	}
	return &node{
		counter: c, meter: c.Meter("r"), sample: whatif.NewSample(rule, bytes), rule: rule,
		half: half, enough: enough, looked: start,
	}
}

// take decides one request; whoever looks at keys was there in time before it.
func (n *node) take(r request) {
	for looks := 0; r.at.Sub(n.looked) >= n.half; looks++ {
		if looks == n.enough { // nothing is left of it
			n.looked = r.at.Add(-n.half)
		}
		n.look(n.looked.Add(n.half))
	}
	hit := n.meter.Offer(r.at, n.meter.Index([]byte(r.key)), []byte(r.key), 1, 0)
	if !n.admits(r.at, hit) {
		n.refused++
	}
}

func (n *node) admits(at window.Instant, hit window.Hit) bool {
	if n.rule.Delay == 0 && !n.rule.Offered {
		return n.meter.Admit(at, hit, 1).Fits
	}
	q := []window.Question{{
		Meter: n.meter, Hit: hit, Cost: 1, Judges: true, Counts: true,
		Patience: n.rule.Delay,
	}}
	return window.AdmitAll(at, q)
}

func (n *node) look(now window.Instant) {
	n.counter.Sweep(now)
	n.counter.Demands(now, n.looked, 0, 1, n.sample.Take)
	n.counter.Levels(now, n.looked, 0, 1, n.sample.Look)
	n.looked = now
}

// end looks until all is known.
func (n *node) end() {
	for range 5 {
		n.look(n.looked.Add(n.half))
	}
}

// TestSampleBoundsTheTruth: with room for all keys, the refusals of each limit lie between the
// bounds, for limits up to the rule's own whatever the traffic, and above for keys that do not ask
// for too much between two looks.
func TestSampleBoundsTheTruth(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		for _, own := range []int64{3, 20, 1000} {
			for _, offered := range []bool{false, true} {
				rule := whatif.Rule{Limit: own, Window: 10 * time.Second, Offered: offered}
				stream := traffic(seed, rule.Window)
				n := newNode(t, rule, 1<<20, stream[0].at)
				for _, r := range stream {
					n.take(r)
				}
				n.end()
				checkBounds(t, fmt.Sprintf("seed %d, own %d, offered %t", seed, own, offered), n,
					rule, stream)
			}
		}
	}
}

func checkBounds(t *testing.T, name string, n *node, rule whatif.Rule, stream []request) {
	t.Helper()
	if got := n.sample.Demand(); got != float64(len(stream)) &&
		(!rule.Offered || got < 0.9*float64(len(stream))) {
		t.Errorf("%s: %v asked for, want %d; %d late", name, got, len(stream), n.sample.Late())
	}
	small := rule.Offered && rule.Limit < 20
	for _, e := range n.sample.Estimates() {
		want := bruteForce(t, rule, e.Limit, stream)
		slack := 0.0
		if e.Limit > rule.Limit { // demand between two looks is known by fifths of the window
			slack = 0.05*float64(want.Requests) + float64(rule.Limit)
		}
		// up to a limit of what passed before each run of denials is not in the log any more
		if small {
			slack = 0.07 * float64(len(stream))
		}
		if got := float64(want.Requests); got < e.Cost.Low-slack || got > e.Cost.High+slack {
			t.Errorf("%s, limit %d: %v requests refused, not between %+v", name,
				e.Limit, got, e.Cost)
		}
		keySlack := 0.0
		if e.Limit > rule.Limit {
			keySlack = 1
		}
		if small {
			keySlack = 2
		}
		if got := float64(want.Keys); got < e.Keys.Low-keySlack || got > e.Keys.High+keySlack {
			t.Errorf("%s, limit %d: %v keys refused, not between %+v", name, e.Limit, got, e.Keys)
		}
	}
}

// TestSampleOfRulesThatBlock: the refusals of each limit are nearly right, though a block goes on
// when nothing is left in the window.
func TestSampleOfRulesThatBlock(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		for _, lasts := range []time.Duration{time.Second, 7 * time.Second, 10 * time.Minute} {
			rule := whatif.Rule{Limit: 20, Window: 10 * time.Second, BlockFor: lasts}
			stream := traffic(seed, rule.Window)
			n := newNode(t, rule, 1<<20, stream[0].at)
			for _, r := range stream {
				n.take(r)
			}
			n.end()
			for _, e := range n.sample.Estimates() {
				want := float64(bruteForce(t, rule, e.Limit, stream).Requests)
				if slack := 0.04*want + 4; want < min(e.Cost.Low, e.Cost.High)-slack ||
					want > max(e.Cost.Low, e.Cost.High)+slack {
					t.Errorf("seed %d, blocked for %v by %d: %v refused, told as %+v", seed, lasts,
						e.Limit, want, e.Cost)
				}
			}
		}
	}
}

// TestSampleStandsForTheRest: with room for few of many keys, the shares are right within the error
// that is told, and without any where only keys that are all there can be refused.
func TestSampleStandsForTheRest(t *testing.T) {
	t.Parallel()
	rule := whatif.Rule{Limit: 50, Window: 10 * time.Second}
	rng := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(rng, 1.3, 3, 5000)
	now := window.Instant(1_700_000_000 * time.Second)
	var stream []request
	for range 40_000 {
		now = now.Add(time.Duration(rng.IntN(int(2 * time.Millisecond))))
		stream = append(stream, request{
			now - now%window.Instant(time.Microsecond),
			fmt.Sprint(z.Uint64()),
		})
	}
	n := newNode(t, rule, 600<<10, stream[0].at)
	exact := whatif.NewExact(rule)
	for _, r := range stream {
		n.take(r)
		exact.Take(r.at, []byte(r.key))
	}
	n.end()
	keys, allFrom := n.sample.Size()
	if keys < 200 || keys > 2000 || allFrom < 4 {
		t.Fatalf("%d keys, all from %v: nothing is sampled", keys, allFrom)
	}
	if got := n.sample.Demand() / float64(len(stream)); got < 0.9 || got > 1.1 {
		t.Errorf("%.3f of what was asked for, told from %d of %d keys", got, keys, exact.Keys())
	}
	about, off := n.sample.Keys()
	if got := about / float64(exact.Keys()); off <= 0 || got < 1-5*off || got > 1+5*off {
		t.Errorf("%.1f keys +- %.3f of it, in truth %d", about, off, exact.Keys())
	}
	for _, e := range n.sample.Estimates() {
		want := exact.Row(e.Limit)
		// some were remembered too late to see their peak
		within := 5*e.Error*e.Keys.High + 0.03*float64(want.Keys)
		if e.Limit > rule.Limit {
			// demand between two looks is known by fifths of the window
			within += 1 + 0.1*float64(want.Keys)
		}
		if float64(e.Limit) >= allFrom && e.Error != 0 {
			t.Errorf("limit %d, above %v: error %v", e.Limit, allFrom, e.Error)
		}
		if got := float64(want.Keys); got < e.Keys.Low-within || got > e.Keys.High+within {
			t.Errorf("limit %d: %v keys, not between %+v +- %.1f", e.Limit, got, e.Keys, within)
		}
		within = 5*e.Error*e.Cost.High + 0.02*e.Cost.High
		if got := float64(want.Requests); got < e.Cost.Low-within || got > e.Cost.High+within {
			t.Errorf("limit %d: %v requests, not between %+v +- %.1f", e.Limit, got, e.Cost, within)
		}
	}
}

// TestSampleKeepsItsBound: however many keys there are, so many are remembered. The memory is 16
// units. A key here takes one, or two while both looks at a window have seen it; which keys stay
// depends on the hash. So at most 16 keys fit, and at least eight.
func TestSampleKeepsItsBound(t *testing.T) {
	t.Parallel()
	n := newNode(t, whatif.Rule{Limit: 5, Window: time.Second}, 16*200, 0)
	for k := range 5000 {
		n.take(request{window.Instant(k) * window.Instant(time.Millisecond), fmt.Sprint(k)})
	}
	if keys, threshold := n.sample.Size(); keys > 16 || keys < 8 || threshold < 100 {
		t.Errorf("%d keys, threshold %v", keys, threshold)
	}
}

// TestSampleThatShrinks: a sample that loses room at once estimates as well as one that never had
// it, and room that is given back is used by keys to come.
//
// A sample that kept k of n keys estimates n with a standard error of about n/√k. Here k is 341 of
// 3,000, then 682 of 6,000: 5.1 % and 3.6 %. The mean of 10 samples, each with a hash of its own,
// has 1.6 % and 1.1 %, and is allowed five times that: fewer than one run in a million fails by
// chance (binomial tails, which are wider above: 2e-7), and an estimate that is wrong by a tenth
// does.
func TestSampleThatShrinks(t *testing.T) {
	t.Parallel()
	const samples = 10
	few, many := 0.0, 0.0 // means of the estimates
	for range samples {
		less, more := shrunk(t)
		few, many = few+less/samples, many+more/samples
	}
	if math.Abs(few-3000) > 5*0.016*3000 {
		t.Errorf("with less room %.0f keys on average, want 3000", few)
	}
	if math.Abs(many-6000) > 5*0.011*6000 {
		t.Errorf("with room again %.0f keys on average, want 6000", many)
	}
}

// shrunk returns how many keys a sample estimates that had room for all of 3,000 and lost most of
// it, and how many once it has the room again and 3,000 more have come. It begins in 2023: an
// Instant is Unix time, and a window that begins before 1970 is cut short.
func shrunk(t *testing.T) (few, many float64) {
	t.Helper()
	at := window.Instant(1_700_000_000 * time.Second)
	n := newNode(t, whatif.Rule{Limit: 5, Window: time.Second}, 1<<20, at)
	ask := func(keys int) {
		for range keys {
			at = at.Add(time.Millisecond)
			n.take(request{at, fmt.Sprint(at)})
		}
		n.end()
		at = n.looked
	}
	ask(3000)
	if keys, allFrom := n.sample.Size(); keys != 3000 || allFrom != 0 {
		t.Errorf("with room for all %d keys, all from %v", keys, allFrom)
	}
	n.sample.Resize(64 << 10)
	left, _ := n.sample.Size()
	few, off := n.sample.Keys()
	if left != 341 || math.Abs(off-1/math.Sqrt(341)) > 0.005 {
		t.Errorf("with less room %d keys, error %.3f", left, off)
	}
	n.sample.Resize(1 << 20)
	ask(3000)
	again, _ := n.sample.Size()
	if many, off = n.sample.Keys(); again <= left || off >= 1/math.Sqrt(341) {
		t.Errorf("with room again %d keys, error %.3f", again, off)
	}
	return few, many
}
