package live

import (
	"math"
	"strconv"
)

// Rates is a row of numbers a second, oldest first; NaN: not known. In JSON what is not known is null.
type Rates []float32

// rateDigits is how exactly a rate is told: no plot shows more.
const rateDigits = 4

// MarshalJSON returns r as an array of numbers and nulls. It never fails.
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
			out = strconv.AppendFloat(out, x, 'g', rateDigits, 32)
		}
	}
	return append(out, ']'), nil
}
