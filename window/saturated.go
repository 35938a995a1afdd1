package window

import "time"

// alarmMark is the promotion mark, in units, from which noise is judged against it; below, a suspect
// costs a slot and says nothing of the sketch.
const alarmMark = 8

// Saturated reports whether the noise of the sketch this meter counts in has come so near to the
// promotion mark (p99 above a quarter of it) that keys become suspects which did little themselves.
// layer is that sketch's window length, as in LayerStats.
func (m *Meter) Saturated() (layer time.Duration, saturated bool) {
	mark := m.mark.Load()
	return m.layer.span.window, mark >= alarmMark && m.layer.p99.Load() > mark/4
}
