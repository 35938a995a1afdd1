package metrics

import (
	"slices"
	"strconv"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

const inUnits = " One unit is 1/1020 of the rule's limit, rounded up to whole cost."

// countFamilies are the families of the counters: the slots and logs of the keys counted exactly,
// called suspects, and the sketch of each window length, which counts all other keys. why of an
// eviction is idle (no request in its window), spare (few requests in its window while slots were
// short), value (displaced by a key nearer to its limit), pinned (displaced although it was refused
// or above half of its limit) or gone (its rule is gone); window is the length naming a sketch;
// percentile is 50 or 99.
var countFamilies = []family{
	{"suspects", "", "Keys that are counted exactly at present."},
	{"suspects_capacity", "", "Keys that can be counted exactly at the same time."},
	{
		"suspects_promoted_total", "",
		"Keys promoted to exact counting because their estimate came near the limit.",
	},
	{"suspects_evicted_total", "why", "Keys that lost their exact counter, by reason."},
	{
		"suspects_full_total", "",
		"Promotions to exact counting that failed because every slot was taken.",
	},
	{"brief_keys", "", "Keys without an exact counter that are held by rate."},
	{"brief_capacity", "", "Keys that can be held by rate at the same time."},
	{"brief_full_total", "", "Requests of keys near their limits for which neither had room."},
	{"numbers", "", "Limits that keys have in place of those of their rules, by tables."},
	{
		"numbers_refitted_total", "",
		"Times a key was judged by another number than at the request before.",
	},
	{"log_chunks", "", "Chunks of memory that the logs of exact counts use."},
	{"log_chunks_capacity", "", "Chunks of memory that the logs of exact counts can use."},
	{"log_full_total", "", "Requests for which the log of an exact count found no free chunk."},
	{
		"promotion_divisor", "",
		"A key is counted exactly once its estimate reaches the limit divided by this number.",
	},
	{"sketch_fill_ratio", "window", "Share of the sketch's cells that are not zero, from 0 to 1."},
	{
		"sketch_saturated_ratio", "window",
		"Share of the sketch's cells that have reached their highest count, from 0 to 1.",
	},
	{
		"sketch_error_bound", "window",
		"An estimate exceeds the true count by more than this many units with a probability of " +
			"at most 1.8 %." +
			inUnits,
	},
	{
		"sketch_noise", "window percentile",
		"Estimate, in units, of keys that were never seen, by percentile." +
			inUnits,
	},
	{
		"sketch_saturated", "window",
		"1 if the sketch is so noisy that nearly idle keys are counted exactly, else 0.",
	},
}

// collectCount sends the values of the exact tier. Suspects and chunks are gauges with a capacity
// beside
// each: a full tier shows as suspects_full_total or log_full_total that grows.
func collectCount(to scrape, s window.Stats) {
	put(to, "suspects", s.Suspects)
	put(to, "suspects_capacity", s.Slots)
	put(to, "suspects_promoted_total", s.Promoted)
	put(to, "suspects_evicted_total", s.EvictedIdle, "idle")
	put(to, "suspects_evicted_total", s.EvictedSpare, "spare")
	put(to, "suspects_evicted_total", s.EvictedValue, "value")
	put(to, "suspects_evicted_total", s.EvictedPinned, "pinned")
	put(to, "suspects_evicted_total", s.EvictedGone, "gone")
	put(to, "suspects_full_total", s.Full)
	put(to, "brief_keys", s.Brief.Keys)
	put(to, "brief_capacity", s.Brief.Capacity)
	put(to, "brief_full_total", s.Brief.Full)
	put(to, "numbers", s.Numbers)
	put(to, "numbers_refitted_total", s.Refitted)
	put(to, "log_chunks", s.Chunks)
	put(to, "log_chunks_capacity", s.ChunkCap)
	put(to, "log_full_total", s.ArenaFull)
	put(to, "promotion_divisor", s.Divisor)
}

// collectLayers sends the values of the sketches. figures are of all rules: a sketch is saturated
// if any of its rules has too small a limit for its noise.
//
// The error bound is e·N/width with N the sum of the window in units; four rows exceed it together
// with a probability of at most e^-4 = 1.8 %. Noise is measured instead: the estimate a key never
// seen would get, at the median and the 99th percentile. On skewed traffic it is far below the
// bound.
func collectLayers(
	to scrape, layers []window.LayerStats, figures []gate.Figures,
) {
	for _, l := range layers {
		label := strconv.FormatFloat(l.Window.Seconds(), 'f', -1, 64) + "s"
		put(to, "sketch_fill_ratio", l.Fill, label)
		put(to, "sketch_saturated_ratio", l.Saturated, label)
		put(to, "sketch_error_bound", l.ErrorBound, label)
		put(to, "sketch_noise", l.NoiseMedian, label, "50")
		put(to, "sketch_noise", l.NoiseP99, label, "99")
		saturated := slices.ContainsFunc(figures,
			func(f gate.Figures) bool { return f.Saturated && f.Layer == l.Window })
		put(to, "sketch_saturated", flagOf(saturated), label)
	}
}
