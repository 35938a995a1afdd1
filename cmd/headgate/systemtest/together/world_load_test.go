//go:build !race

package together

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

// worldBin is how finely the load is looked at.
const worldBin = 50 * time.Millisecond

// mostWhys is how many refusals are looked at one by one.
const mostWhys = 20

// worldBins is how many bins a second has.
const worldBins = int(time.Second / worldBin)

// flow is one client, or several alike, whose requests arrive at the PoPs by a plan. Within a PoP
// all nodes get alike many.
type flow struct {
	name string
	rule string
	keys int                                          // 0: 1
	rate func(elapsed time.Duration, pop int) float64 // requests a second of all keys together
	// spaced has the nodes begin with different keys, so that a key's requests are as far apart as
	// they can be. Else all nodes ask about a key in the same moment: six requests, then none for
	// six periods.
	spaced bool

	mu   sync.Mutex
	bins [][]systemtest.Second // by PoP and bin
	near int                   // answers with less than view=global
	why  []string              // of the first denials: time, place and cause
}

// spread returns a rate that is the sum of those of the PoPs in fixed shares.
func spread(rate float64, shares ...float64) func(time.Duration, int) float64 {
	return func(_ time.Duration, pop int) float64 { return rate * shares[pop%len(shares)] }
}

// key returns the name of the client that asks as the nth.
func (f *flow) key(n int) string {
	if f.keys < 2 {
		return f.name
	}
	return fmt.Sprintf("%s-%d", f.name, n%f.keys)
}

// note counts answers that came at the given time.
func (f *flow) note(at time.Duration, pop int, answers []hg.Answer) {
	near := 0
	var why []string
	for _, a := range answers {
		if a.Err == nil && !a.Allowed() {
			why = append(why, fmt.Sprintf("%v %s %v %.2f", at.Round(time.Millisecond),
				worldNames[pop], a.Why, a.Ratio))
		}
		if a.Err == nil && a.View != wire.ViewGlobal {
			near++
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.near += near
	f.why = append(f.why, why[:min(len(why), max(0, mostWhys-len(f.why)))]...)
	for len(f.bins) <= pop {
		f.bins = append(f.bins, nil)
	}
	bin := int(at / worldBin)
	for len(f.bins[pop]) <= bin {
		f.bins[pop] = append(f.bins[pop], systemtest.Second{})
	}
	f.bins[pop][bin] = f.bins[pop][bin].Plus(systemtest.Count(answers))
}

// sum counts the answers of a PoP between two bins.
func (f *flow) sum(pop, from, to int) (all systemtest.Second) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pop >= len(f.bins) {
		return all
	}
	for n := max(0, from); n < min(to, len(f.bins[pop])); n++ {
		all = all.Plus(f.bins[pop][n])
	}
	return all
}

// world counts the answers of all PoPs between two bins.
func (f *flow) world(from, to int) (all systemtest.Second) {
	for pop := range worldNames {
		all = all.Plus(f.sum(pop, from, to))
	}
	return all
}

func (f *flow) total() systemtest.Second { return f.world(0, math.MaxInt) }

// worldLoad is clients that ask all PoPs at once.
type worldLoad struct {
	testing.TB
	flows   []*flow
	began   time.Time
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	waits []time.Duration // for each exchange
	// by second: the longest time between two exchanges of a client, or for one
	late map[int]time.Duration
}

// busyMachine is a time that no client waits between two exchanges, or for one, where the machine
// keeps up: ringTick is 5 ms.
const busyMachine = 60 * time.Millisecond

// delayed notes that a client was late by that time.
func (w *worldLoad) delayed(at, by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	second := int(at / time.Second)
	w.late[second] = max(w.late[second], by)
}

// keptUp reports whether the machine kept up in a second and in the one before, in which its ratios
// were computed.
func (w *worldLoad) keptUp(second int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.late[second-1], w.late[second]) < busyMachine
}

// load begins to ask; it goes on until stop, at the latest until the test ends.
func (l *worldLab) load(flows ...*flow) *worldLoad {
	l.Helper()
	w := &worldLoad{TB: l, flows: flows, began: time.Now(), late: map[int]time.Duration{}}
	ctx, end := context.WithCancel(context.Background())
	w.end = end
	for pop, p := range l.pops {
		asked := p.asked()
		for i, n := range asked {
			client := n.Client()
			from := (float64(pop) + float64(i)/float64(len(asked))) / float64(len(l.pops))
			w.running.Go(func() { w.ask(ctx, pop, from, 1/float64(len(asked)), client) })
		}
	}
	l.Cleanup(w.stop)
	return w
}

// asked returns the nodes that are asked.
func (p *worldPoP) asked() (all []*systemtest.Node) {
	for _, n := range p.nodes {
		if !n.Spared && !n.Ended {
			all = append(all, n)
		}
	}
	return all
}

func (w *worldLoad) stop() {
	w.end()
	w.running.Wait()
}

// elapsed returns how long the load has run.
func (w *worldLoad) elapsed() time.Duration { return time.Since(w.began) }

// until lets the load run until it has run for so long.
func (w *worldLoad) until(d time.Duration) {
	w.Helper()
	systemtest.Hold(w, max(0, d-w.elapsed()))
}

// ask sends the requests of one node, a share of those of its PoP. from is the part of a spaced
// flow's keys that it begins behind.
func (w *worldLoad) ask(ctx context.Context, pop int, from, share float64, client *hg.Client) {
	owed, next := make([]float64, len(w.flows)), make([]int, len(w.flows))
	for n, f := range w.flows {
		if f.spaced {
			next[n] = int(from * float64(f.keys))
		}
	}
	last := w.elapsed()
	tick := time.NewTicker(systemtest.Tick)
	defer tick.Stop()
	for ctx.Err() == nil {
		now := w.elapsed()
		for n, f := range w.flows {
			rate := f.rate(now, pop) * share
			owed[n] = min(owed[n]+rate*(now-last).Seconds(), max(1, rate*systemtest.Slip.Seconds()))
			if due := int(owed[n]); due > 0 {
				owed[n] -= float64(due)
				w.exchange(client, f, pop, due, &next[n])
			}
		}
		w.delayed(now, max(now-last, w.elapsed()-now))
		last = now
		<-tick.C
	}
}

// exchange asks a node for a flow.
func (w *worldLoad) exchange(client *hg.Client, f *flow, pop, due int, next *int) {
	queries := make([]hg.Query, due)
	for n := range queries {
		queries[n] = hg.Query{Rule: f.rule, Key: f.key(*next)}
		*next++
	}
	asked := time.Now()
	answers, _ := client.Batch(context.Background(), queries) // an error is in the answers too
	wait := time.Since(asked)
	f.note(w.elapsed()-wait/2, pop, answers)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, wait)
}

// say logs the answers of each flow.
func (w *worldLoad) say(when string) {
	w.Helper()
	for _, f := range w.flows {
		w.Logf("%s: %s: %v; %d with less than view=global", when, f.name, f.total(), f.near)
	}
}

// shares returns the admitted share of the limit in each second from bin from to bin to.
func (f *flow) shares(from, to int, limit float64) (all []float64) {
	for ; from+worldBins <= to; from += worldBins {
		all = append(all, float64(f.world(from, from+worldBins).Admitted)/limit)
	}
	return all
}

// logShares logs shares by second, and returns the least, the greatest and the mean.
func logShares(t testing.TB, what string, all []float64) (least, most, mean float64) {
	t.Helper()
	text := ""
	least = math.Inf(1)
	for _, s := range all {
		text += fmt.Sprintf(" %.3f", s)
		least, most, mean = min(least, s), max(most, s), mean+s/float64(len(all))
	}
	t.Logf("%s, admitted of the limit by second:%s; %.3f..%.3f, mean %.4f", what,
		text, least, most, mean)
	return least, most, mean
}

// jain is Jain's index of fairness over the admitted share of each PoP's requests: 1 is fair.
func (f *flow) jain(from, to int) (index float64, shares []float64) {
	var sum, squares float64
	for pop := range worldNames {
		if s := f.sum(pop, from, to); s.Asked > 0 {
			share := float64(s.Admitted) / float64(s.Asked)
			shares, sum, squares = append(shares, share), sum+share, squares+share*share
		}
	}
	return sum * sum / (float64(len(shares)) * squares), shares
}
