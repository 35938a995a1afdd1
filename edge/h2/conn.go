package h2

import (
	"errors"
	"time"

	"golang.org/x/net/http2/hpack"
)

// Handler answers the calls of a connection, called on the connection's goroutine, between two
// reads: every wait is a wait of all other calls.
type Handler interface {
	// Method returns the number of the method with path, or -1: answered Unimplemented.
	Method(path string) int
	// Begin precedes the calls of a read, End follows: calls share the cost of a batch.
	Begin()
	End()
	// Call answers a call: it appends the response message to dst, or returns a status other than
	// OK. message lies in the connection's buffer: it holds until Call returns. nil: longer than
	// MaxMessage: whoever chose its length must not choose an error.
	Call(dst []byte, method int, message []byte) ([]byte, Status)
	// Lend takes so many bytes more for streams under way, or gives bytes back if below 0. False:
	// there was no room.
	Lend(bytes int) bool
}

// Conn is a connection, for a single goroutine. There is no lock: the door reads, advances and
// writes in turn. All times are durations since some start the caller chose, so a test can set
// them.
type Conn struct {
	handler  Handler
	counters *Counters
	now      time.Duration // of the Advance under way

	in       []byte
	from, to int // the unread bytes are in[from:to]
	out      []byte
	// -1 from Arrived until the next Advance, which knows the time.
	began   time.Duration // when the frame that is not whole yet began
	opened  time.Duration // when the connection began
	greeted bool          // the client's preface was read
	settled bool          // and its first SETTINGS
	// A GOAWAY with a fault was sent. The door writes it and closes.
	over bool // nothing more is read
	// Streams under way are answered still (RFC 9113, 6.8); Done then ends the connection.
	leaving bool // the peer sent GOAWAY
	calling bool // the handler's Begin was called

	// The table is the peer's own affair and costs at most tableSize; a block may be left undecoded
	// only if the table stays the same (see keeps.go).
	decoder *hpack.Decoder
	head    head // of the last header block
	block   block
	// Peers open streams in ascending order (RFC 9113, 5.1.1), so the list is sorted, and the
	// newest, asked for most, is last.
	streams []*stream // by id, ascending
	free    []*stream
	// A HEADERS frame at or below lastStream opens nothing: a stream of the past.
	last uint32 // highest stream of the peer
	// RFC 9113, 5.1, tells frames on the way when this side reset a stream (to be ignored) from
	// frames of a stream ended by the peer (an error). Not all streams can be remembered: these are
	// the last.
	closed   [64]closedStream
	closedAt int

	table table // of response headers
	// Possibly below 0: see push.
	window  int64 // bytes of DATA the peer takes
	initial int64 // bytes of DATA it takes on a new stream
	unsent  int   // bytes of answers waiting for a window
	// Bytes the handler has lent: for bodies, heads in parts, unsent answers and streams; and the
	// part of these.
	lent, lentStreams int
	// Only the connection's: streams are shorter than their first window, so theirs is never
	// raised.
	received   int // bytes of DATA the peer may still send
	credit     int // bytes of DATA done with and not credited to the peer yet
	rate       rate
	calls      uint64 // answered and not in counters yet
	unpacker   unpacker
	faultCount [Reasons]uint64
}

// closedStream is a stream open not long ago.
type closedStream struct {
	id    uint32
	reset bool // by this side: frames of the peer may be on their way
}

// New returns a connection beginning at now, the time on any forward clock, and whose first Output
// is to be written. The greeting can be written before anything is read: HTTP/2 lets a server speak
// first (RFC 9113, 3.4).
func New(h Handler, counters *Counters, now time.Duration) *Conn {
	c := &Conn{
		handler: h, counters: counters, in: make([]byte, firstInput), opened: now, began: now,
		window: defaultWindow, initial: defaultWindow, received: connWindow,
	}
	c.decoder = hpack.NewDecoder(tableSize, c.head.field)
	// Without this limit a literal could claim any length; with the limit the decoder fails, and so
	// does the connection.
	c.decoder.SetMaxStringLength(MaxHeaderList)
	c.out = appendGreeting(nil)
	return c
}

// Room returns memory for the next bytes of the peer: firstInput before the first, then the rest of
// a frame. The rest of the last read is moved to the front, part of a frame.
func (c *Conn) Room() []byte {
	if c.from > 0 {
		c.to = copy(c.in, c.in[c.from:c.to])
		c.from = 0
	}
	// A silent connection costs no more.
	if len(c.in) < inputSize && (c.to > 0 || c.greeted) {
		in := make([]byte, inputSize)
		copy(in, c.in[:c.to])
		c.in = in
	}
	return c.in[c.to:]
}

// Arrived says that n bytes were read into Room. Where the buffer was empty a new frame begins with
// these bytes, and the frame's time too.
func (c *Conn) Arrived(n int) {
	if c.from == c.to {
		c.began = -1
	}
	c.to += n
}

// Output returns the bytes to be written now.
func (c *Conn) Output() []byte { return c.out }

// Written says Output as written.
func (c *Conn) Written() {
	if c.out = c.out[:0]; cap(c.out) > 2*outputSize {
		c.out = nil
	}
}

// Close gives back the memory the handler lent for streams under way. c is not used afterwards.
func (c *Conn) Close() {
	c.handler.Lend(-c.lent)
	c.lent = 0
}

// lend has the handler lend so many bytes more. False: there was no room. A batch does not wait.
func (c *Conn) lend(bytes int) bool {
	if bytes > 0 && c.calling {
		c.calling = false
		c.handler.End()
	}
	if !c.handler.Lend(bytes) {
		return false
	}
	c.lent += bytes
	return true
}

// noRoom ends the connection of a peer for whose unfinished requests or unsent answers there is no
// memory.
var noRoom = fault{calmDown, NoRoom}

// Settled reports whether the peer has sent preface and first SETTINGS.
func (c *Conn) Settled() bool { return c.settled }

// Streams returns how many requests and answers are under way.
func (c *Conn) Streams() int { return len(c.streams) }

// Done reports whether the peer wants no more of this connection, and nothing is under way.
func (c *Conn) Done() bool { return c.leaving && len(c.streams) == 0 && c.from == c.to }

// ErrClosed is the error of Advance and Expire where the connection ends. The GOAWAY saying why is
// in Output.
var ErrClosed = errors.New("h2: the connection ends by the peer's fault")

// Advance reads the frames that have arrived and appends the answers to Output. more: enough is to
// be written, and Advance is to be called again afterwards. After an error Output is to be written
// and the connection closed.
func (c *Conn) Advance(now time.Duration) (more bool, err error) {
	c.now = now
	if c.over {
		return false, ErrClosed
	}
	if c.began < 0 {
		c.began = now
	}
	more, err = c.read()
	if c.calling {
		c.calling = false
		c.handler.End()
	}
	c.giveCredit()
	if err == nil {
		err = c.lendStreams()
	}
	return more, c.end(err)
}

// lendStreams has the handler lend the memory of streams beyond the first few open between two
// reads. Most calls begin and end within a read.
func (c *Conn) lendStreams() error {
	// streams that may stay open between two reads without lent memory
	bytes := max(0, len(c.streams)-16) * streamBytes
	if bytes != c.lentStreams && !c.lend(bytes-c.lentStreams) {
		return noRoom
	}
	c.lentStreams = bytes
	return nil
}

// read reads frames until none is whole, or enough is to be written.
func (c *Conn) read() (more bool, err error) {
	if !c.greeted {
		if ok, err := c.greet(); !ok {
			return false, err
		}
	}
	// So a peer who pipelines calls without reading answers stops being read once outputSize waits:
	// TCP then slows the peer down.
	for len(c.out) < outputSize {
		var f frame
		if whole, err := c.next(&f); !whole || err != nil {
			return false, err
		}
		if err := c.receive(&f); err != nil {
			return false, err
		}
	}
	return true, nil
}

// greet reads the preface. False: incomplete. Another beginning is HTTP/1 or TLS sent to the wrong
// port: there is nothing to parse, and the first bytes differing are enough to say so.
func (c *Conn) greet() (bool, error) {
	arrived := c.in[c.from:c.to]
	n := min(len(arrived), len(preface))
	if string(arrived[:n]) != preface[:n] {
		return false, fault{protocolError, Protocol}
	}
	if n < len(preface) {
		return false, nil
	}
	c.greeted = true
	c.from += n
	return true, nil
}

// next takes the next frame out of the buffer. False: not whole. RFC 9113, 4.1: 24 bits of length,
// type, flags, a reserved bit to be ignored, 31 bits of stream. The length is checked before the
// payload has arrived, so nobody makes this side wait for 16 MiB.
func (c *Conn) next(f *frame) (bool, error) {
	b := c.in[c.from:c.to]
	if len(b) < headBytes {
		return false, nil
	}
	size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	if size > maxFrame {
		return false, fault{sizeError, Protocol}
	}
	if len(b) < headBytes+size {
		return false, nil
	}
	f.kind, f.flags = b[3], b[4]
	f.id = uint32(b[5])<<24&0x7fffffff | uint32(b[6])<<16 | uint32(b[7])<<8 | uint32(b[8])
	f.payload = b[headBytes : headBytes+size]
	c.from += headBytes + size
	// Whatever is behind began at this read at the latest.
	c.began = c.now
	return true, nil
}
