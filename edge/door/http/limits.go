package http

import (
	"time"

	"github.com/headgate-dev/headgate/edge/door/budget"
)

// Bounds of the HTTP decision listener. A waiting connection holds no buffer. A connection whose
// head or small body has begun to arrive holds head.Size. All larger bodies and the answers to
// batches share maxHTTPBytes. So slow clients hold at most
//
//	maxHTTPConns x (8 KiB + about 6 KiB of connection and goroutine) + maxHTTPBytes = 68 MiB
//
// Unused memory goes back to the system.
const (
	// maxHTTPConns is the most open connections; a further connection is answered 503 and closed.
	maxHTTPConns = 4096
	// maxHTTPBody is the most bytes of a body; more: 413.
	maxHTTPBody = 1 << 20
	// maxHTTPBytes is the most bytes of bodies and batches under way at once, with those of the
	// other doors. A further request waits budget.Wait for room and is then answered 503.
	maxHTTPBytes = budget.Most
	// maxHTTPRequest is reserved of maxHTTPBytes, in bytes, for the memory a request takes besides
	// the body during arrival.
	maxHTTPRequest = 32 << 10
	// maxHTTPSmall is the largest body, in bytes, whose buffer is kept for reuse.
	maxHTTPSmall = 8 << 10
)

// Timeouts. No action or omission of a client outlasts timeouts by more than an eighth: see
// door/stream.
const (
	// httpReadTimeout bounds the arrival of a request, from the first byte to the last.
	httpReadTimeout = 2 * time.Second
	// httpWriteTimeout bounds the sending of an answer.
	httpWriteTimeout = 2 * time.Second
	// httpIdleTimeout bounds the wait for the next request of a connection.
	// nginx and HAProxy keep theirs for a minute by default; init's snippets say 20 s, below this.
	httpIdleTimeout = 30 * time.Second
	// maxRest and restTimeout bound the reading of a request answered before the end.
	maxRest     = 4 << 20
	restTimeout = 200 * time.Millisecond

	// httpDrainTimeout bounds the stop. More than httpReadTimeout, so a request under way is
	// finished.
	httpDrainTimeout = 5 * time.Second
	// httpTrimEvery is the interval of attempts to return unused memory to the system.
	httpTrimEvery = 10 * time.Second
)

// limits are the bounds of a door: the constants above, or others in tests.
type limits struct {
	read, write, idle, drain time.Duration
	conns                    int
	bytes                    int64 // of bodies and batches
}
