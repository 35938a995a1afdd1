package serve

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns CLOCK_MONOTONIC, by which a service manager matches a message to a reload; not
// exported by Go.
func monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil { // no Linux is without it
		return 0
	}
	return time.Duration(t.Nano())
}
