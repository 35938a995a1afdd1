package api

import "time"

// WholeSeconds rounds d up to whole seconds; a negative d becomes 0. d must be below 136 years.
func WholeSeconds(d time.Duration) uint32 {
	return uint32(max(0, (d+time.Second-1)/time.Second)) //nolint:gosec // at most 30 days
}
