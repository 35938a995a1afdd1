//go:build soak && !race

package together

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestWorldSoakPartition cuts one PoP off for a minute while a key is attacked everywhere, and
// heals the cut: each side holds the limit by itself, and the members find each other again.
func TestWorldSoakPartition(t *testing.T) {
	for lone := range worldNames {
		if !t.Run("without-"+worldNames[lone], func(t *testing.T) { partition(t, lone) }) &&
			t.Skipped() {
			return
		}
	}
}

func partition(t *testing.T, lone int) {
	const before, cut, after = 10, 60, 45 // seconds
	places := openPlaces(t)
	if places == nil {
		return
	}
	for _, r := range worldRates[:1] {
		l := startPoPs(t, worldPlan{rules: worldSoakRules, places: places})
		flood := &flow{name: "flood", rule: r.rule, rate: spread(5*r.limit, 0.80, 0.15, 0.05)}
		quiet := &flow{name: "quiet", rule: r.rule, rate: spread(0.8*r.limit, 0.34, 0.33, 0.33)}
		load := l.load(flood, quiet)
		load.until(before * time.Second)
		l.part(lone)
		begins := load.bin()
		load.until((before + cut) * time.Second)
		l.logMembers("at the end of the cut")
		l.heal()
		ends := load.bin()
		took := edgetest.Await(t, "one cluster again", 30*time.Second, l.whole)
		t.Logf("healed: all nodes know all members after %v", took.Round(10*time.Millisecond))
		load.until((before + cut + after) * time.Second)
		load.stop()
		load.say("in the end")
		logShares(t, "before", flood.shares(begins-5*worldBins, begins, r.limit))
		_, most, mean := logShares(t, "during the cut", flood.shares(begins, ends, r.limit))
		_, late, later := logShares(t, "after it",
			flood.shares(ends, ends+(after-2)*worldBins, r.limit))
		t.Logf("during the cut mean %.3f, worst second %.3f; after it mean %.4f, worst second %.3f",
			mean, most, later, late)
		if mean > 2.05 {
			t.Errorf("two sides admitted %.3f of the limit, want at most one each", mean)
		}
		if _, _, last := logShares(t, "the last 10 s",
			flood.shares(ends+(after-12)*worldBins, ends+(after-2)*worldBins,
				r.limit)); last > 1.02 {
			t.Errorf("healed for half a minute it admits %.3f of the limit", last)
		}
		l.unharmed(quiet)
	}
}

// whole reports whether all nodes know all members.
func (l *worldLab) whole() bool {
	for _, n := range l.nodes {
		if n.Alive() != len(l.nodes) {
			return false
		}
	}
	return true
}

func (l *worldLab) logMembers(when string) {
	l.Helper()
	text := ""
	for _, n := range l.nodes {
		text += fmt.Sprintf(" %s %d", n.ID, n.Alive())
	}
	l.Logf("%s, members that are alive by each node:%s", when, text)
}

// TestWorldSoakLoss loses 10 % and 30 % of gossip's datagrams.
func TestWorldSoakLoss(t *testing.T) {
	places := openPlaces(t)
	if places == nil {
		return
	}
	l := startPoPs(t, worldPlan{rules: worldSoakRules, places: places})
	for _, percent := range []int{0, 10, 30} {
		l.lose(percent)
		for _, r := range worldRates {
			flood := &flow{
				name: fmt.Sprintf("flood-%d", percent), rule: r.rule,
				rate: spread(5*r.limit, 0.80, 0.15, 0.05),
			}
			quiet := &flow{
				name: fmt.Sprintf("quiet-%d", percent), rule: r.rule,
				rate: spread(0.8*r.limit, 0.34, 0.33, 0.33),
			}
			load := l.load(flood, quiet)
			load.until(20*time.Second + worldBin)
			load.stop()
			_, most, mean := logShares(t,
				fmt.Sprintf("%d %% lost, %s, from the third second on", percent, r.rule),
				flood.shares(2*worldBins, 20*worldBins, r.limit))
			index, _ := flood.jain(2*worldBins, 20*worldBins)
			t.Logf("%d %% lost, %s: settled after %v; Jain's index %.5f", percent, r.rule,
				flood.settled(0, r.limit), index)
			if mean > 1.02 || mean < 0.95 || most > 1.10+r.wide {
				t.Errorf("%d %% lost, %s: mean %.4f, worst second %.3f",
					percent, r.rule, mean, most)
			}
			l.unharmed(quiet)
		}
		l.in(t).lossyBlock(fmt.Sprintf("burglar-%d", percent), percent)
		l.logMembers(fmt.Sprintf("%d %% lost", percent))
		l.heal()
	}
	runtime.KeepAlive(places)
}

// lossyBlock measures how long a block takes to reach all nodes: the promise is 2 s at 10 % loss, 5
// s at 30 %.
func (l *worldLab) lossyBlock(key string, percent int) {
	most := 2 * time.Second
	if percent > 10 {
		most = 5 * time.Second
	}
	took := l.blockEverywhere(key, most)
	l.Logf("%d %% lost: blocked at all nodes after %v", percent, took.Round(time.Millisecond))
}
