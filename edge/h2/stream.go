package h2

import (
	"slices"
	"time"
)

// stream is a request and the answer, used again for another request once forgotten, so a call in a
// single frame allocates nothing.
type stream struct {
	id     uint32
	method int  // of the handler; -1: there is none
	kind   kind // of the request
	status int  // of HTTP, for a request that is no call
	// content-length, if sent: RFC 9113, 8.1.1, holds content-length against the DATA
	length  int64         // that the request says its body has; -1: it does not
	began   time.Duration // when its headers were read
	ended   bool          // the request is complete
	body    []byte        // of the request, as far as it has arrived
	size    int           // bytes of DATA so far
	window  int64         // bytes of DATA the peer takes
	unsent  []byte        // of the answer, waiting for a window
	waiting int           // bytes that were lent for it
	trailer bool          // trailers follow the answer
}

// kind is how a request's message is encoded.
type kind uint8

const (
	identity kind = iota
	gzipped
	otherEncoding
	noCall // no gRPC at all: see status
)

// find returns the stream with id, nil if none is under way. The newest comes first, as nearly
// every DATA frame follows the HEADERS at once.
func (c *Conn) find(id uint32) *stream {
	n := len(c.streams)
	if n == 0 {
		return nil
	}
	if s := c.streams[n-1]; s.id <= id {
		if s.id == id {
			return s
		}
		return nil
	}
	at, ok := slices.BinarySearchFunc(c.streams, id,
		func(s *stream, id uint32) int { return int(int64(s.id) - int64(id)) })
	if !ok {
		return nil
	}
	return c.streams[at]
}

// open adds a stream with the highest id so far.
func (c *Conn) open(id uint32) *stream {
	var s *stream
	if n := len(c.free); n > 0 {
		s, c.free = c.free[n-1], c.free[:n-1]
	} else {
		s = new(stream)
	}
	*s = stream{id: id, length: -1, began: c.now, window: c.initial}
	c.streams = append(c.streams, s)
	return s
}

// close forgets s. reset: this side has reset s. forget gives back the share of s in the
// connection's bounds: bytes received and not credited, bytes not sent.
func (c *Conn) close(s *stream, reset bool) {
	n := len(c.streams) - 1
	if c.streams[n] == s {
		c.streams = c.streams[:n]
	} else if at, ok := slices.BinarySearchFunc(c.streams, s.id, func(s *stream, id uint32) int {
		return int(int64(s.id) - int64(id))
	}); ok {
		c.streams = slices.Delete(c.streams, at, at+1)
	}
	if s.body != nil {
		c.dropBody(s)
	}
	if s.unsent != nil {
		c.unsent -= len(s.unsent)
		c.lend(-s.waiting)
		s.unsent = nil
	}
	c.remember(s.id, reset)
	// A burst of a thousand requests must not leave a thousand streams behind.
	if len(c.free) < keptStreams {
		c.free = append(c.free, s)
	}
}

// remember notes the stream with id as open. A ring: the newest takes the place of the oldest.
func (c *Conn) remember(id uint32, reset bool) {
	c.closed[c.closedAt] = closedStream{id, reset}
	c.closedAt = (c.closedAt + 1) % len(c.closed)
}

// closedStream returns the state of a stream that is not under way. reset: this side reset it;
// known: it was open not long ago. All 64 are looked at, in any order: it is rare.
func (c *Conn) closedStream(id uint32) (reset, known bool) {
	for _, s := range c.closed {
		if s.id == id {
			return s.reset, true
		}
	}
	return false, false
}

// reset ends s with an error code.
func (c *Conn) reset(s *stream, why code, r Reason) {
	c.count(r)
	c.out = appendReset(c.out, s.id, why)
	c.close(s, true)
}

// resetUnknown answers a frame of a stream not under way. The frame counts as control, or else
// frames of closed streams would have this side send a reset for each, at no price.
func (c *Conn) resetUnknown(id uint32, why code, r Reason) error {
	c.count(r)
	c.out = appendReset(c.out, id, why)
	c.remember(id, true)
	return c.control()
}

// Until returns the time by which Expire is to be called; false: nothing is under way. Only a wait
// for the peer has a time: a connection with nothing under way may be silent for ever, in pools.
func (c *Conn) Until() (time.Duration, bool) {
	frame, begun := c.frameUntil()
	if len(c.streams) == 0 {
		return frame, begun
	}
	oldest := c.streams[0].began + MaxTime
	if begun {
		oldest = min(oldest, frame)
	}
	return oldest, true
}

// frameUntil returns the time by which the peer's greeting, or the frame it has begun, is to be
// whole; false: it has greeted, and begun none.
func (c *Conn) frameUntil() (until time.Duration, begun bool) {
	if !c.settled {
		return c.opened + MaxGreeting, true
	}
	return c.began + MaxTime, c.from < c.to || c.block.open
}

// Expire resets the requests unanswered MaxTime after the begin. The error is as of Advance: the
// peer has begun a frame, or the connection, and does not go on. A request whose answer waits for a
// window is cut off, too: the peer has stopped reading.
func (c *Conn) Expire(now time.Duration) error {
	c.now = now
	for len(c.streams) > 0 && c.streams[0].began+MaxTime <= now {
		c.reset(c.streams[0], cancelled, TooLate)
	}
	c.giveCredit()
	if until, begun := c.frameUntil(); begun && until <= now {
		return c.end(fault{protocolError, TooLate})
	}
	return c.end(nil)
}

// giveCredit lets the peer send as many bytes as are done with, once that is worth a frame. A
// WINDOW_UPDATE for each frame would double the packets; so it is sent for half a window, or when
// the peer has but a quarter left.
func (c *Conn) giveCredit() {
	if c.credit < connWindow/2 && (c.received > connWindow/4 || c.credit == 0) {
		return
	}
	c.out = appendWindow(c.out, 0, c.credit)
	c.received += c.credit
	c.credit = 0
}

// GoAway tells the peer to open no more streams here. last: those on their way will not be answered
// either. RFC 9113, 6.8, recommends both, in turn: first with the highest number, against new
// streams without loss of requests on the way; then with the number of the last stream seen.
func (c *Conn) GoAway(last bool) {
	id := uint32(1<<31 - 1)
	if last {
		id = c.last
	}
	c.out = appendGoAway(c.out, id, noError)
}
