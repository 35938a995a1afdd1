package window

import "time"

// Saturated reports whether the noise of this meter's sketch has come so near to the promotion mark
// (p99 above a quarter of it) as to make suspects of idle keys. layer is the sketch's window
// length, as in LayerStats.
func (m *Meter) Saturated() (layer time.Duration, saturated bool) {
	mark := m.promotesAt()
	// the promotion mark, in units, from which noise is judged. With a lower mark keys are promoted
	// so early that noise costs slots and nothing else.
	return m.layer.span.window, mark >= 8 && m.layer.p99.Load() > mark/4
}
