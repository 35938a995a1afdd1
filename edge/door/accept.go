package door

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Transient reports whether an accept failed for lack of a resource that becomes free again.
// ECONNABORTED is a client that left before it was accepted (accept(2)), and EINTR a signal:
// neither is the listener's.
func Transient(err error) bool {
	for _, e := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Pause waits for d and reports whether ctx is still alive. A stopped timer, and not time.After: at
// a stop nothing is left behind.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
