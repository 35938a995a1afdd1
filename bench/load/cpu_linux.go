//go:build linux && (amd64 || arm64)

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time this process has had, in user and system mode. The measuring loop
// never rests, so against the wall clock it shows whether others had its core.
// A share below 1 in a report says that the load was short of its core, and the figure beside it is
// too low.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
