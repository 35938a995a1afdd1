//go:build !race

package together

import "testing"

// memoryRules are held by records, and by owners.
const memoryRules = `rules:
  - {name: small, limit: 5, window: 10s, scope: global}
  - {name: large, limit: 100, window: 10s, scope: global}
`

// TestWorldMemory floods three PoPs with far more keys than the control loop has room for: the
// process and the loop stay within their bounds, keys that use their limits count over all PoPs
// all the same, and no client within its limit is denied.
func TestWorldMemory(t *testing.T) {
	const memory, from, until = 16, 12, 22 // MiB, seconds
	l := startPoPs(t, worldPlan{rules: memoryRules, memory: memory, nodes: 1, alone: true})
	plan := func(name, rule string, keys int, rate float64) *flow {
		return &flow{
			name: name, rule: rule, keys: keys, spaced: true, rate: spread(rate, 1, 1, 1),
		}
	}
	hotSmall, hotLarge := plan("hot", "small", 1, 1), plan("hot", "large", 1, 20)
	good := plan("good", "large", 10, 25)
	load := l.load(plan("cold", "small", 40_000, 2500), plan("cold", "large", 20_000, 1500),
		hotSmall, hotLarge, good)
	load.until(until * 1e9)
	load.stop()
	load.say("in the end")
	for _, n := range l.nodes {
		is := n.Metrics("headgate_control_")
		held, most := is["headgate_control_bytes"], is["headgate_control_capacity_bytes"]
		if most > memory<<20/8 || held > most*1.02 || held < most/2 ||
			is["headgate_control_full_total"] == 0 {
			t.Errorf("%s: the control loop takes %.0f of %.0f bytes, keys without room %.0f", n.ID,
				held, most, is["headgate_control_full_total"])
		}
		resident := n.MostResident()
		t.Logf("%s: %d MiB resident at most, %.0f of %.0f bytes", n.ID, resident, held, most)
		if resident > memory+64 {
			t.Errorf("%s: %d MiB resident at most, with memory %d MiB", n.ID, resident, memory)
		}
	}
	for f, limit := range map[*flow]float64{hotSmall: 5, hotLarge: 100} {
		got := f.world(from*worldBins, until*worldBins)
		if share := float64(got.Admitted) / limit; share < .85 || share > 1.35 {
			t.Errorf("%s %s: %.2f limits in a window: %v", f.rule, f.name, share, got)
		}
	}
	if got := good.total(); got.Refused > 0 {
		t.Errorf("of clients within their limit %v: %v", got, good.why)
	}
}
