package window

import "time"

// Trailing is the cost in a window by counting periods, of which the oldest counts in part.
type Trailing struct{ Offered, Admitted float64 }

// Trailing returns t's cost in the window of length span ending at wall, Unix time. The oldest
// period counts in part, as if the cost had come evenly.
func (t *Totals) Trailing(span, wall time.Duration) (sum Trailing) {
	period := CountingPeriod(span)
	running, passed := uint32(uint64(wall)/uint64(period)),
		float64(uint64(wall)%uint64(period))/float64(period)
	each := uint32(span / period)
	for back := range each + 1 {
		part, is := 1., t.At(running-back)
		if back == each {
			part = 1 - passed
		}
		sum.Offered += part * float64(is.Offered)
		sum.Admitted += part * float64(is.Admitted)
	}
	return sum
}
