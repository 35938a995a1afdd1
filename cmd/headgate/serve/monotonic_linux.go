package serve

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns CLOCK_MONOTONIC, by which a service manager tells which reload it hears of; Go does not show it.
func monotonic() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil { // no Linux is without it
		return 0
	}
	return time.Duration(t.Nano())
}
