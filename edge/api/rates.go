package api

import (
	"math"
	"strconv"
)

// Rates is a series of values per second, oldest first. NaN and infinity stand for an unknown value
// and are null in JSON. Six hours of a thousand rules are 180,000 steps: four bytes each, and few
// digits on the wire.
type Rates []float32

// MarshalJSON returns r as an array of numbers and nulls. Never fails.
func (r Rates) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 2+4*len(r))
	out = append(out, '[')
	for n, rate := range r {
		if n > 0 {
			out = append(out, ',')
		}
		if x := float64(rate); math.IsNaN(x) || math.IsInf(x, 0) {
			out = append(out, "null"...)
		} else {
			// the precision of a rate in JSON, in significant digits: a plot shows no more.
			out = strconv.AppendFloat(out, x, 'g', 4, 32)
		}
	}
	return append(out, ']'), nil
}
