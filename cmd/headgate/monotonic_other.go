//go:build !linux

package main

import "time"

// monotonic returns 0: off Linux no service manager asks.
func monotonic() time.Duration { return 0 }
