package edge

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/window"
)

// stateMetrics are the families of what outlives a restart: operators' words, and the state on disk.
type stateMetrics struct {
	words, refused, evicted, full                metric
	writes, failures, ignored, left, bytes, aged metric
}

func newStateMetrics() stateMetrics {
	return stateMetrics{
		words:    gaugeOf("words", "Keys whose last word by an operator is remembered, lifts included."),
		refused:  counterOf("words_refused_total", "Words of other nodes that were not taken.", "reason"),
		evicted:  counterOf("words_evicted_total", "Words given up for ones that last longer."),
		full:     counterOf("words_full_total", "Words not taken because all others last longer."),
		writes:   counterOf("state_writes_total", "Times that the state was written to state_dir."),
		failures: counterOf("state_write_failures_total", "Times that it could not be."),
		ignored:  counterOf("state_ignored_total", "States found at the start that could not be used."),
		left:     counterOf("state_left_out_total", "Flags and counts left out of a state for want of room."),
		bytes:    gaugeOf("state_bytes", "Size of the state on disk."),
		aged:     gaugeOf("state_age_seconds", "How long ago the state on disk was true; absent until one is written."),
	}
}

func (m *stateMetrics) all() []metric {
	return []metric{m.words, m.refused, m.evicted, m.full, m.writes, m.failures, m.ignored, m.left, m.bytes, m.aged}
}

func (m *stateMetrics) collect(to chan<- prometheus.Metric, e *Edge, now window.Instant) {
	words := e.words.Stats()
	m.words.set(to, float64(words.Held))
	if e.world != nil { // else there is nobody to hear words from
		m.refused.set(to, float64(words.Bad), "bad")
		m.refused.set(to, float64(words.Early), "future")
		m.refused.set(to, float64(words.Over), "over")
	}
	m.evicted.set(to, float64(words.Evicted))
	m.full.set(to, float64(words.Full))
	if e.keeper == nil {
		return
	}
	s := e.keeper.Stats(now)
	m.writes.set(to, float64(s.Writes))
	m.failures.set(to, float64(s.Failures))
	m.ignored.set(to, float64(s.Ignored))
	m.left.set(to, float64(s.Left))
	m.bytes.set(to, float64(s.Bytes))
	if s.Age >= 0 {
		m.aged.set(to, s.Age.Seconds())
	}
}
