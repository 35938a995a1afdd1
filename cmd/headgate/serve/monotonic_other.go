//go:build !linux

package serve

import "time"

// monotonic returns 0: off Linux no service manager asks.
func monotonic() time.Duration { return 0 }
