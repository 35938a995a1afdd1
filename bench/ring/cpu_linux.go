package main

import (
	"syscall"
	"time"
)

// threadTime returns the processor time that the calling thread has had.
// The thread's and not the process's: the flusher runs beside it, on another core if there is one.
func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var r syscall.Rusage
	if syscall.Getrusage(thisThread, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
