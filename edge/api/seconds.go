package api

import (
	"fmt"
	"time"
)

// WholeSeconds rounds d up to whole seconds; a negative d becomes 0. d must be below 136 years.
func WholeSeconds(d time.Duration) uint32 {
	return uint32(max(0, (d+time.Second-1)/time.Second)) // at most 30 days
}

// WholeMillis returns d in whole milliseconds, rounded up; 0 for a negative duration.
func WholeMillis(d time.Duration) uint32 {
	return uint32(max(0, (d+time.Millisecond-1)/time.Millisecond)) // delays are a minute at most
}

// ClockApart returns the difference of the clocks in words. skew is how far the node's is ahead, in
// whole seconds; negative: behind; 0: too far to be known.
func ClockApart(skew time.Duration) string {
	if skew == 0 {
		return "differs from the ring's by minutes or more"
	}
	if skew < 0 {
		return fmt.Sprintf("is %d s behind the ring's", -skew/time.Second)
	}
	return fmt.Sprintf("is %d s ahead of the ring's", skew/time.Second)
}
