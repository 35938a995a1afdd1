package accesslog

import (
	"strconv"
	"time"
)

// maxTook is the longest time that a request may have taken.
const maxTook = 30 * 24 * time.Hour

// setTook sets how long the request took from a number of units, if in range.
func setTook(b []byte, unit time.Duration, rec *Record) {
	const longest = 32 // digits that anybody writes
	if len(b) == 0 || len(b) > longest {
		return
	}
	n, err := strconv.ParseFloat(string(b), 64)
	if took := n * float64(unit); err == nil && took >= 0 && took <= float64(maxTook) {
		rec.Took = int64(took)
	}
}
