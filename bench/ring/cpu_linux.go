package main

import (
	"syscall"
	"time"
)

// threadTime returns the processor time that the calling thread has had.
func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var r syscall.Rusage
	if syscall.Getrusage(thisThread, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
