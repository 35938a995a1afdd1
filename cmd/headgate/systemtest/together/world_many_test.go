//go:build soak && !race

package together

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

const manyRules = `rules:
  - {name: many, limit: 5, window: 10s, scope: global}
  - {name: open, limit: 1000000, window: 10s, scope: global}
`

// TestWorldSoakMany has ten thousand keys at twice a limit that shows only over all PoPs, far more
// than can be reported one by one. It compares gossip's traffic and the clients' waits with those
// of the same requests under a limit that none comes near to.
func TestWorldSoakMany(t *testing.T) {
	const keys, rate, rounds = 10_000, 10_000, 1
	settle := map[string]time.Duration{"open": 8 * time.Second, "many": 2 * time.Minute}
	l := startPoPs(t, worldPlan{rules: manyRules, memory: 64})
	waits, sent := map[string][]time.Duration{}, map[string][]float64{}
	for round := range rounds {
		for _, rule := range []string{"open", "many"} {
			f := &flow{name: rule, rule: rule, keys: keys, rate: spread(rate, 0.34, 0.33, 0.33)}
			// 0.8 of the limit each
			good := &flow{
				name: "good", rule: rule, keys: 50,
				rate: spread(20, 1.0/3, 1.0/3, 1.0/3), spaced: true,
			}
			load, from := l.load(f, good), settle[rule]
			load.until(from)
			load.take()
			before, flushes := l.controlBytes(), l.flushes()
			began := time.Now()
			load.until(from + 10*time.Second)
			flushes = l.flushes().since(flushes)
			bytes := (l.controlBytes() - before) / time.Since(began).Seconds() / float64(
				len(l.nodes))
			load.stop()
			all := load.take()
			sent[rule], waits[rule] = append(sent[rule], bytes),
				append(waits[rule], quantile(all, 0.99))
			t.Logf("round %d, %s: %v; %.0f bytes/s a node; half within %v, 99 %% within %v; a "+
				"flush takes %v",
				round, rule, f.total(), bytes, quantile(all, 0.5),
				quantile(all, 0.99), flushes.mean())
			for at := 0; at < int(from/time.Second); at += 15 {
				t.Logf("  from second %d on: %v", at, f.world(at*worldBins, (at+15)*worldBins))
			}
			got := f.world(int(from/time.Second)*worldBins, int(from/time.Second+10)*worldBins)
			t.Logf("  at last: %v; clients at 0.8: %v", got, good.total())
			if share := float64(got.Refused) / float64(got.Asked); rule == "many" &&
				(share < 0.35 || share > 0.55) {
				t.Errorf("of keys at twice their limit %v", got) // each PoP's part is below it
			}
			if good.total().Refused > 0 {
				t.Errorf("of clients at 0.8 of their limit %v; %v", good.total(), good.why)
			}
			t.Logf("  keys of %s: %s", l.nodes[0].ID, l.keysOf(l.nodes[0]))
		}
	}
	for _, rule := range []string{"open", "many"} {
		slices.Sort(sent[rule])
		slices.Sort(waits[rule])
		t.Logf("%s: median %.0f bytes/s a node, 99 %% within %v", rule, sent[rule][rounds/2],
			waits[rule][rounds/2])
	}
	if most := sent["many"][rounds/2]; most > 68<<10 {
		t.Errorf("%.0f bytes/s a node, want at most 64 KiB and what gossip itself needs", most)
	}
}

// take returns how long clients waited since it was called last.
func (w *worldLoad) take() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := w.waits
	w.waits = nil
	return waits
}

// controlBytes returns the bytes that all nodes have sent each other beside their rings, framing
// and encryption included.
func (l *worldLab) controlBytes() (sum float64) {
	l.Helper()
	const sent = `headgate_gossip_bytes_total{direction="out"}`
	for _, n := range l.nodes {
		value, ok := n.Metrics(sent)[sent]
		if !ok {
			l.Fatalf("%s does not say what it sent", n.ID)
		}
		sum += value
	}
	return sum
}

// flushTimes are how many flushes there were, and how many seconds they took together.
type flushTimes struct{ count, seconds float64 }

// flushes returns those of all nodes since their starts.
func (l *worldLab) flushes() (all flushTimes) {
	l.Helper()
	const name = "headgate_ring_flush_duration_seconds"
	for _, n := range l.nodes {
		is := n.Metrics(name)
		if is[name+"_count"] == 0 {
			l.Fatalf("%s does not say how long its flushes took: %v", n.ID, is)
		}
		all.count += is[name+"_count"]
		all.seconds += is[name+"_sum"]
	}
	return all
}

// since returns the flushes after those of before.
func (f flushTimes) since(before flushTimes) flushTimes {
	return flushTimes{f.count - before.count, f.seconds - before.seconds}
}

// mean returns how long one took.
func (f flushTimes) mean() time.Duration {
	return time.Duration(f.seconds / f.count * float64(time.Second)).Round(time.Microsecond)
}

// keysOf counts a node's keys by its part in them.
func (l *worldLab) keysOf(n *systemtest.Node) string {
	return fmt.Sprint(n.Metrics("headgate_control_"))
}
