package h2

import (
	"encoding/binary"
	"math"
)

// receive takes a frame.
func (c *Conn) receive(f *frame) error {
	switch {
	// The first frame of a client is SETTINGS (RFC 9113, 3.4), and a header block is not
	// interrupted (6.10).
	case !c.settled && (f.kind != frameSettings || f.has(flagAck)),
		c.block.open != (f.kind == frameContinuation),
		c.block.open && f.id != c.block.id:
		return fault{protocolError, Protocol}
	}
	switch f.kind {
	case frameData:
		return c.data(f)
	case frameHeaders, frameContinuation:
		return c.headers(f)
	case framePriority:
		return c.priority(f)
	case frameReset:
		return c.resetBy(f)
	case frameSettings:
		return c.settings(f)
	case framePing:
		return c.ping(f)
	case frameGoAway:
		if f.id != 0 || len(f.payload) < 8 {
			return fault{protocolError, Protocol}
		}
		c.leaving = true
		return c.control()
	case frameWindow:
		return c.windowUpdate(f)
	// Only a server pushes: RFC 9113, 8.4.
	case framePush:
		return fault{protocolError, Protocol}
	}
	// To be ignored (RFC 9113, 5.5), though not in any number.
	return c.control() // of an extension this side does not know
}

// data takes a part of a request's body. The common case is a whole message in a frame, answered in
// place. RFC 9113, 6.1 and 6.9. All of the payload counts for flow control, padding included;
// credit is the number of bytes the peer gets back.
func (c *Conn) data(f *frame) error {
	size := len(f.payload)
	switch c.received -= size; {
	case c.received < 0:
		return fault{flowError, Protocol}
	// A stream never opened is an error of the connection: RFC 9113, 5.1, "idle".
	case f.id == 0 || f.id > c.last:
		return fault{protocolError, Protocol}
	case !f.unpad():
		return fault{protocolError, Protocol}
	}
	s := c.find(f.id)
	if s == nil || s.ended {
		c.credit += size
		return c.dataAfter(s, f.id)
	}
	c.credit += size - len(f.payload)
	end := f.has(flagEndStream)
	switch s.size += len(f.payload); {
	// More than ever allowed, since a stream's window is never raised.
	case s.size > streamWindow:
		c.credit += len(f.payload)
		c.reset(s, flowError, Protocol)
		return nil
	// RFC 9113, 8.1.1: the sum of DATA must be content-length.
	case end && s.length >= 0 && int64(s.size) != s.length:
		c.credit += len(f.payload)
		c.reset(s, protocolError, Protocol)
		return nil
	case end && len(s.body) == 0:
		c.credit += len(f.payload)
		return c.finish(s, f.payload)
	}
	switch err := c.keep(s, f.payload); {
	case err != nil:
		return err
	case end:
		return c.finish(s, s.body)
	case s.tooLong():
		return c.early(s, tooLong)
	}
	return nil
}

// keep adds a part of s's body to those before. Bytes beyond the longest message are dropped. An
// empty DATA frame costs the sender 9 bytes and no window, so counted as control.
func (c *Conn) keep(s *stream, part []byte) error {
	switch {
	case s.kind == noCall || s.tooLong():
		c.credit += len(part)
		c.dropBody(s)
	case !c.lend(len(part)):
		c.answerError(s, Status{ResourceExhausted, "the node has no memory for a message in parts"})
		return noRoom
	default:
		s.body = append(s.body, part...)
	}
	if len(part) == 0 {
		return c.control()
	}
	return nil
}

// dropBody forgets the body of s.
func (c *Conn) dropBody(s *stream) {
	c.credit += len(s.body)
	c.lend(-len(s.body))
	s.body = nil
}

// dataAfter answers DATA of a stream whose request is over; s is nil if the answer is, too. Bytes
// were credited all the same: the window of the connection would shrink with each otherwise.
func (c *Conn) dataAfter(s *stream, id uint32) error {
	if s != nil {
		c.reset(s, streamClosed, Protocol)
		return nil
	}
	if reset, _ := c.closedStream(id); reset {
		return c.control() // it was on its way
	}
	return c.resetUnknown(id, streamClosed, Protocol)
}

// priority takes a PRIORITY frame, which means nothing here. Parsed for faults alone; h2spec looks
// for both.
func (c *Conn) priority(f *frame) error {
	switch {
	case f.id == 0:
		return fault{protocolError, Protocol}
	case len(f.payload) != 5:
		return c.resetAny(f.id, sizeError)
	case dependsOn(f.payload) == f.id:
		return c.resetAny(f.id, protocolError)
	}
	return c.control()
}

// dependsOn returns the stream a priority names.
func dependsOn(p []byte) uint32 { return binary.BigEndian.Uint32(p) & 0x7fffffff }

// resetAny ends the stream with id, under way or not.
func (c *Conn) resetAny(id uint32, why code) error {
	if s := c.find(id); s != nil {
		c.reset(s, why, Protocol)
		return nil
	}
	return c.resetUnknown(id, why, Protocol)
}

// resetBy takes a RST_STREAM frame. RFC 9113, 6.4: never answered by another RST_STREAM. Only
// unanswered requests count for the flood: a reset after the answer cost nothing beyond the
// request.
func (c *Conn) resetBy(f *frame) error {
	switch {
	case f.id == 0 || f.id > c.last:
		return fault{protocolError, Protocol}
	case len(f.payload) != 4:
		return fault{sizeError, Protocol}
	}
	s := c.find(f.id)
	if s == nil {
		return c.control()
	}
	c.close(s, false)
	c.rate.turn(c.now)
	if c.rate.resets++; c.rate.resets > MaxResets {
		return fault{calmDown, ResetFlood}
	}
	return nil
}

// ping answers a PING. RFC 9113, 6.7: the same eight bytes, from which the peer knows the time
// taken.
func (c *Conn) ping(f *frame) error {
	switch {
	case f.id != 0:
		return fault{protocolError, Protocol}
	case len(f.payload) != 8:
		return fault{sizeError, Protocol}
	}
	if !f.has(flagAck) {
		c.out = append(appendHead(c.out, 8, framePing, flagAck, 0), f.payload...)
	}
	return c.control()
}

// windowUpdate lets a stream, or the connection, have more bytes of answers.
// RFC 9113, 6.9: 0 is an error of the stream, or of the connection; so is more than 2^31-1 in all
// (6.9.1).
func (c *Conn) windowUpdate(f *frame) error {
	if len(f.payload) != 4 {
		return fault{sizeError, Protocol}
	}
	more := int64(binary.BigEndian.Uint32(f.payload) & 0x7fffffff)
	switch {
	case f.id > c.last || f.id == 0 && more == 0:
		return fault{protocolError, Protocol}
	case f.id == 0:
		if c.window += more; c.window > math.MaxInt32 {
			return fault{flowError, Protocol}
		}
		c.pushAll()
		return c.control()
	}
	s := c.find(f.id)
	switch {
	case s == nil: // it was on its way
	case more == 0:
		c.reset(s, protocolError, Protocol)
		return nil
	default:
		if s.window += more; s.window > math.MaxInt32 {
			c.reset(s, flowError, Protocol)
			return nil
		}
		c.push(s)
	}
	return c.control()
}

// settings takes the peer's SETTINGS and acknowledges them. RFC 9113, 6.5. Settings hold once
// acknowledged, so answers waiting for a window are pushed afterwards.
func (c *Conn) settings(f *frame) error {
	switch {
	case f.id != 0:
		return fault{protocolError, Protocol}
	case f.has(flagAck) && len(f.payload) != 0 || len(f.payload)%6 != 0:
		return fault{sizeError, Protocol}
	case f.has(flagAck):
		return c.control()
	}
	c.settled = true
	for p := f.payload; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p),
			binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.out = appendHead(c.out, 0, frameSettings, flagAck, 0)
	c.pushAll()
	return c.control()
}

// setting takes a setting. Settings about frames this side never sends mean nothing here. RFC 9113,
// 6.5.2. A setting that is not known is to be ignored.
func (c *Conn) setting(number uint16, value uint32) error {
	switch number {
	case setTable:
		c.table.limit(value)
	case setPush:
		if value > 1 {
			return fault{protocolError, Protocol}
		}
	case setFrame:
		if value < maxFrame || value > 1<<24-1 {
			return fault{protocolError, Protocol}
		}
	case setWindow:
		if value > math.MaxInt32 {
			return fault{flowError, Protocol}
		}
		// All streams under way get the difference, which may take their windows below 0 (6.9.2).
		change := int64(value) - c.initial
		c.initial = int64(value)
		for _, s := range c.streams {
			if s.window += change; s.window > math.MaxInt32 {
				return fault{flowError, Protocol}
			}
		}
	}
	return nil
}
