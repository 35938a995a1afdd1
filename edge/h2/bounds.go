package h2

import (
	"sync/atomic"
	"time"
)

// Bounds of one connection. They are announced to the peer where HTTP/2 has a setting for them.
const (
	MaxStreams    = 1000             // requests and unsent answers under way; a further one is reset, REFUSED_STREAM
	MaxMessage    = 64 << 10         // bytes of a request's message, as sent and decompressed
	MaxHeaderList = 64 << 10         // bytes of a request's headers, as HPACK counts them; more: status 431
	MaxBlock      = 64 << 10         // bytes of a header block as sent
	MaxUnsent     = 1 << 20          // bytes of answers that wait for the peer's window
	MaxResets     = 1000             // unanswered requests that the peer may reset in a second
	MaxControl    = 1000             // frames without a request in a second, beside controlPerCall for each call answered in it
	MaxTime       = 10 * time.Second // from a request's first byte to the last byte of its answer

	maxFrame         = 16 << 10  // bytes of a frame's payload: the default of HTTP/2
	maxDecoded       = 1 << 20   // bytes of headers, as HPACK counts them, that are decoded for their tables; then the connection ends
	decodedAtOnce    = 1 << 10   // bytes of a block between two looks at maxDecoded
	maxContinuations = 16        // frames of one header block beside the first
	controlPerCall   = 4         // grpc-go sends a PING and a WINDOW_UPDATE for an answer
	streamWindow     = 128 << 10 // bytes a stream may send: a message fits, so it is never raised
	connWindow       = 256 << 10 // bytes of unfinished requests on a connection
	tableSize        = 4096      // bytes of either HPACK table: the default of HTTP/2
	inputSize        = 64 << 10  // bytes read at once
	outputSize       = 64 << 10  // bytes after which Advance stops to have them written
	keptBody         = 4 << 10   // bytes of a stream's buffers that are kept for the next stream
	keptStreams      = 64        // streams whose memory is kept
)

// Reason says which bound a peer went over, or that it broke the protocol.
type Reason uint8

// The reasons. Reasons is their number.
const (
	Protocol     Reason = iota // frames against RFC 9113: the connection ends, or the stream
	ControlFlood               // above MaxControl: the connection ends
	ResetFlood                 // above MaxResets: the connection ends
	HeadTooLong                // above MaxHeaderList, MaxBlock or its frames: status 431, or the connection ends
	TooMany                    // above MaxStreams: the stream is reset
	TooLate                    // above MaxTime: the stream is reset; or the connection ends, inside a frame
	Unsent                     // above MaxUnsent: the connection ends
	TooLong                    // above MaxMessage: grpc-status 8
	Reasons
)

// String returns the reason as a metric's label has it.
func (r Reason) String() string { return reasonNames[r] }

var reasonNames = [...]string{"protocol", "control_flood", "reset_flood", "head_too_long", "too_many_streams", "too_late", "unsent", "too_long"}

// Counters are the totals of all connections that share them. They may be read at any time.
type Counters struct {
	Calls  atomic.Uint64          // answered by the handler
	Faults [Reasons]atomic.Uint64 // streams and connections lost, and messages not taken
}
