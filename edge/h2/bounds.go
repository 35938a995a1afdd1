package h2

import (
	"sync/atomic"
	"time"
)

// Bounds of a connection. Bounds are announced to the peer where HTTP/2 has a setting.
const (
	// requests and unsent answers under way; a further stream is reset, REFUSED_STREAM
	MaxStreams = 1000
	MaxMessage = 64 << 10 // bytes of a request's message, as sent and decompressed
	// HPACK's count is names, values and 32 for each field, so many empty fields are not free.
	MaxHeaderList = 64 << 10 // bytes of a request's headers, as HPACK counts them; more: status 431
	MaxBlock      = 64 << 10 // bytes of a header block as sent
	// Answers are some 100 bytes, so thousands fit: so slow a peer has given up.
	MaxUnsent = 1 << 20 // bytes of answers waiting for the peer's window
	// "Rapid reset" (CVE-2023-44487): open and reset in a packet, so MaxStreams never counts. A
	// proxy resets when a client hangs up, which hardly happens a thousand times a second on a
	// connection.
	MaxResets = 1000 // unanswered requests the peer may reset in a second
	// Floods of PING, SETTINGS, empty DATA or unknown frames (CVE-2019-9512, 9515, 9518), each of
	// which costs this side work or an answer. frames without a request in a second, beside
	// controlPerCall for each call answered in the second
	MaxControl = 1000
	// Bodies coming a byte at a time (CVE-2019-9511) hold a stream no longer.
	MaxTime = 10 * time.Second // from a request's first byte to the last byte of its answer
	// Whoever connects and is silent holds a place no longer.
	MaxGreeting = 2 * time.Second // from the begin of the connection to the peer's first SETTINGS

	maxFrame = 16 << 10 // bytes of a frame's payload: the default of HTTP/2
	// A block of 64 KiB can name a large entry of the table in each byte ("HPACK bomb"): the
	// decoded size costs memory and time. bytes of headers, as HPACK counts them, decoded for the
	// tables; then the connection ends
	maxDecoded = 1 << 20
	// "CONTINUATION flood" (CVE-2024-27316 and others): an endless block. MaxBlock alone would let
	// in 64 Ki frames of a byte.
	maxContinuations = 16 // frames of a header block beside the first
	controlPerCall   = 4  // grpc-go sends a PING and a WINDOW_UPDATE for an answer
	// bytes a stream may send: a message fits, so never raised
	streamWindow = 128 << 10
	connWindow   = 256 << 10 // bytes of unfinished requests on a connection
	tableSize    = 4096      // bytes of either HPACK table: the default of HTTP/2
	// bytes of the first read: those of a client's preface and settings
	firstInput = 1 << 10
	// bytes read at once after that: a frame with head, and little more
	inputSize  = maxFrame + 1<<10
	outputSize = 16 << 10 // bytes after which Advance stops to have them written
	// bytes of a header block compared with the next
	keptHead = 4 << 10
	// bytes of a further stream, besides body and answer
	streamBytes = 384
	// streams whose memory is kept, without memory of bodies and answers
	keptStreams = 64
)

// Reason says which bound a peer went over, or a breach of the protocol. One label of the metric
// each, so an operator sees which bound a peer meets before asking why calls fail.
type Reason uint8

// The reasons. Reasons is their number.
const (
	Protocol     Reason = iota // frames against RFC 9113: the connection ends, or the stream
	ControlFlood               // above MaxControl: the connection ends
	ResetFlood                 // above MaxResets: the connection ends
	// above MaxHeaderList, MaxBlock or the frames of a block: status 431, or the connection ends
	HeadTooLong
	TooMany // above MaxStreams: the stream is reset
	// above MaxTime: the stream is reset; or the connection ends, inside a frame
	TooLate
	Unsent  // above MaxUnsent: the connection ends
	TooLong // above MaxMessage: the handler answers without it
	NoRoom  // no memory for streams under way: the connection ends
	Reasons
)

// String returns the reason as a metric's label.
func (r Reason) String() string { return reasonNames[r] }

var reasonNames = [...]string{
	"protocol", "control_flood", "reset_flood", "head_too_long",
	"too_many_streams", "too_late", "unsent", "too_long", "no_room",
}

// Counters are the totals of all connections sharing Counters. Readable at any time.
type Counters struct {
	Calls  atomic.Uint64          // answered by the handler
	Faults [Reasons]atomic.Uint64 // streams and connections lost, and messages not taken
}
