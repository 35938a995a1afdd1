package metrics

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
	"github.com/prometheus/client_golang/prometheus"
)

// countMetrics are the families of the counters: the slots and logs of the keys that are counted
// exactly, called suspects, and the sketch of each window length that counts all other keys.
type countMetrics struct {
	suspects, capacity, promoted, evicted, full        metric
	chunks, chunkCapacity, logFull, divisor            metric
	fill, saturatedShare, errorBound, noise, saturated metric
}

// newCountMetrics returns the families. The label why of an eviction is idle (no request in its
// window), spare (few requests in its window while slots were short), value (displaced by a key
// nearer to its limit), pinned (displaced although it was refused or above half of its limit) or
// gone (its rule is gone); window is the length that names a sketch; percentile is 50 or 99.
func newCountMetrics() countMetrics {
	const inUnits = " One unit is 1/1020 of the rule's limit, rounded up to whole cost."
	return countMetrics{
		suspects: gaugeOf("suspects", "Keys that are counted exactly at present."),
		capacity: gaugeOf("suspects_capacity",
			"Keys that can be counted exactly at the same time."),
		promoted: counterOf("suspects_promoted_total",
			"Keys promoted to exact counting because their estimate came near the limit."),
		evicted: counterOf("suspects_evicted_total",
			"Keys that lost their exact counter, by reason.", "why"),
		full: counterOf("suspects_full_total",
			"Promotions to exact counting that failed because every slot was taken."),
		chunks: gaugeOf("log_chunks", "Chunks of memory that the logs of exact counts use."),
		chunkCapacity: gaugeOf("log_chunks_capacity",
			"Chunks of memory that the logs of exact counts can use."),
		logFull: counterOf("log_full_total",
			"Requests for which the log of an exact count found no free chunk."),
		divisor: gaugeOf("promotion_divisor",
			"A key is counted exactly once its estimate reaches the limit divided by this number."),

		fill: gaugeOf("sketch_fill_ratio",
			"Share of the sketch's cells that are not zero, from 0 to 1.", "window"),
		saturatedShare: gaugeOf("sketch_saturated_ratio",
			"Share of the sketch's cells that have reached their highest count, from 0 to 1.",
			"window"),
		errorBound: gaugeOf("sketch_error_bound", "An estimate exceeds the true count by more than this many units with a probability of at most 1.8 %."+inUnits, "window"),
		noise: gaugeOf("sketch_noise",
			"Estimate, in units, of keys that were never seen, by percentile."+inUnits,
			"window", "percentile"),
		saturated: gaugeOf("sketch_saturated",
			"1 if the sketch is so noisy that nearly idle keys are counted exactly, else 0.",
			"window"),
	}
}

// all returns the families, for Describe.
func (m *countMetrics) all() []metric {
	return []metric{
		m.suspects, m.capacity, m.promoted, m.evicted, m.full, m.chunks, m.chunkCapacity,
		m.logFull, m.divisor,
		m.fill, m.saturatedShare, m.errorBound, m.noise, m.saturated,
	}
}

// collect sends the values of the exact tier. Suspects and chunks are gauges with a capacity beside
// each: a full tier shows as suspects_full_total or log_full_total that grows.
func (m *countMetrics) collect(to chan<- prometheus.Metric, s window.Stats) {
	m.suspects.set(to, float64(s.Suspects))
	m.capacity.set(to, float64(s.Slots))
	m.promoted.set(to, float64(s.Promoted))
	m.evicted.set(to, float64(s.EvictedIdle), "idle")
	m.evicted.set(to, float64(s.EvictedSpare), "spare")
	m.evicted.set(to, float64(s.EvictedValue), "value")
	m.evicted.set(to, float64(s.EvictedPinned), "pinned")
	m.evicted.set(to, float64(s.EvictedGone), "gone")
	m.full.set(to, float64(s.Full))
	m.chunks.set(to, float64(s.Chunks))
	m.chunkCapacity.set(to, float64(s.ChunkCap))
	m.logFull.set(to, float64(s.ArenaFull))
	m.divisor.set(to, float64(s.Divisor))
}

// collectLayers sends the values of the sketches. figures are of all rules: a sketch is saturated
// if one of its rules has too small a limit for its noise.
//
// The error bound is e·N/width with N the sum of the window in units; four rows exceed it together
// with a probability of at most e^-4 = 1.8 %. Noise is measured instead: the estimate that a key
// never seen would get, at the median and the 99th percentile. On skewed traffic it is far below
// the bound.
func (m *countMetrics) collectLayers(
	to chan<- prometheus.Metric, layers []window.LayerStats, figures []gate.Figures,
) {
	for _, l := range layers {
		label := windowLabel(l)
		m.fill.set(to, l.Fill, label)
		m.saturatedShare.set(to, l.Saturated, label)
		m.errorBound.set(to, l.ErrorBound, label)
		m.noise.set(to, float64(l.NoiseMedian), label, "50")
		m.noise.set(to, float64(l.NoiseP99), label, "99")
		saturated := slices.ContainsFunc(figures,
			func(f gate.Figures) bool { return f.Saturated && f.Layer == l.Window })
		m.saturated.set(to, flagOf(saturated), label)
	}
}
