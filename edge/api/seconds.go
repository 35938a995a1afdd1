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

// ClockApart returns the difference of the clocks in words. offset is how far the node's is ahead;
// negative: behind.
func ClockApart(offset time.Duration) string {
	side := "ahead of"
	if offset < 0 {
		side = "behind"
	}
	return fmt.Sprintf("is %v s %s the ring's",
		offset.Abs().Round(time.Millisecond).Seconds(), side)
}
