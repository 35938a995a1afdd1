package h2

import (
	"encoding/binary"
)

// Status is the outcome of a call; the zero Status is OK.
type Status struct {
	Code    Code
	Message string // for people; any text
}

// Code is a status code of gRPC. The numbers are those of grpc-status in gRPC's "PROTOCOL-HTTP2",
// and never change; a client acts by the status: Unavailable is tried again, InvalidArgument is
// not.
type Code uint8

// The codes used here. Other codes are for servers with more to say.
const (
	OK                Code = 0
	InvalidArgument   Code = 3
	NotFound          Code = 5
	ResourceExhausted Code = 8
	Unimplemented     Code = 12
	Internal          Code = 13
	Unavailable       Code = 14
)

// Statuses of HTTP for requests other than calls.
const (
	// gRPC's protocol asks for 415 for another content type; a browser or a health check arriving
	// by accident can read each.
	statusMethod      = 405
	statusType        = 415
	statusHeadTooLong = 431
)

// notCall is the body of the answer to a request other than a call.
const notCall = "this port answers gRPC calls only\n"

// finish answers the request of s, whose body is complete. The single place where a request becomes
// an answer, so answers and the peer's allowance of control frames are counted once each.
func (c *Conn) finish(s *stream, body []byte) error {
	s.ended = true
	c.rate.turn(c.now)
	c.rate.answers++
	if s.kind == noCall {
		c.out = c.table.appendHTTP(c.out, s.id, s.status, len(notCall))
		// By the windows like any other answer: a peer with a window of 0 must not make this side
		// break flow control.
		return c.pushNew(s, notCall)
	}
	message, status := c.message(s, body)
	// After the message was looked at: a fault of the call itself is said first.
	if status.Code == OK && s.method < 0 {
		status = noMethod
	}
	if status != tooLong && status.Code != OK {
		c.answerError(s, status)
		return nil
	}
	return c.call(s, message)
}

// call has the handler answer a call. The response is appended in the send buffer, behind room for
// the heads of unknown size, so no answer is copied unless the peer's window is too small.
func (c *Conn) call(s *stream, message []byte) error {
	if !c.calling {
		c.calling = true
		c.handler.Begin()
	}
	c.calls++
	if message == nil {
		c.count(TooLong)
	}
	// Both are put back if the handler returns a status: the peer never sees the headers, so the
	// table must not have their fields either.
	start, table := len(c.out), c.table
	c.out = c.table.appendResponse(c.out, s.id)
	at := len(c.out)
	c.out = append(c.out, make([]byte, headBytes+prefixBytes)...)
	var status Status
	if c.out, status = c.handler.Call(c.out, s.method, message); status.Code != OK {
		c.out, c.table = c.out[:start], table
		c.answerError(s, status)
		return nil
	}
	size := len(c.out) - at - headBytes
	// a response is short
	binary.BigEndian.PutUint32(c.out[at+headBytes+1:], uint32(size-prefixBytes))
	// The headers stay; the rest waits in the stream for WINDOW_UPDATE.
	if int64(size) > min(c.window, s.window, maxFrame) {
		s.trailer = true
		rest := string(c.out[at+headBytes:])
		c.out = c.out[:at]
		return c.pushNew(s, rest)
	}
	_ = appendHead(c.out[:at], size, frameData, 0, s.id)
	c.window -= int64(size)
	c.out = c.table.appendTrailers(c.out, s.id)
	c.answered(s)
	return nil
}

// answered ends s, whose answer is whole. A client that streams stays open until the answer, and a
// client with a long message waits for a window never raised. RST_STREAM with NO_ERROR behind the
// answer has the client stop (RFC 9113, 8.1).
func (c *Conn) answered(s *stream) {
	if !s.ended {
		c.out = appendReset(c.out, s.id, noError)
	}
	c.close(s, !s.ended)
}

// answerError answers a call with a status alone. Headers and trailers are then a single frame
// ("Trailers-Only" in gRPC's terms), which no window limits: RFC 9113, 5.2.1, has flow control for
// DATA alone.
func (c *Conn) answerError(s *stream, status Status) {
	c.out = c.table.appendError(c.out, s.id, status)
	c.answered(s)
}

// pushNew sends as much of a new answer as the windows allow, and checks the waiting answers. A
// peer that asks and never opens its window would otherwise pile up answers here: each unsent byte
// is counted, and 1 MiB unsent end the connection.
func (c *Conn) pushNew(s *stream, answer string) error {
	c.dropBody(s) // the call is over
	s.unsent = append(s.unsent, answer...)
	c.unsent += len(answer)
	if c.push(s); c.find(s.id) != s {
		return nil
	}
	if c.unsent > MaxUnsent {
		return fault{calmDown, Unsent}
	}
	if !c.lend(len(s.unsent)) {
		return noRoom
	}
	s.waiting = len(s.unsent)
	return nil
}

// push sends as much of s's answer as the windows allow. answer may forget s.
func (c *Conn) push(s *stream) {
	for len(s.unsent) > 0 {
		n := int(min(int64(len(s.unsent)), c.window, s.window, maxFrame))
		// A window may be below 0: the peer may lower SETTINGS_INITIAL_WINDOW_SIZE under bytes
		// already sent (RFC 9113, 6.9.2).
		if n <= 0 {
			return
		}
		flags := byte(0)
		if n == len(s.unsent) && !s.trailer {
			flags = flagEndStream
		}
		c.out = append(appendHead(c.out, n, frameData, flags, s.id), s.unsent[:n]...)
		// Moved to the front rather than cut off, so the memory is kept for the next stream.
		s.unsent = s.unsent[:copy(s.unsent, s.unsent[n:])]
		c.window -= int64(n)
		s.window -= int64(n)
		c.unsent -= n
		if len(s.unsent) > 0 {
			continue
		}
		if s.trailer {
			c.out = c.table.appendTrailers(c.out, s.id)
		}
		c.close(s, false)
	}
}

// pushAll sends as much of all answers as the windows allow, the oldest first. push may take s out
// of the list, and then the next stands at i.
func (c *Conn) pushAll() {
	for i := 0; i < len(c.streams) && c.unsent > 0 && c.window > 0; {
		s := c.streams[i]
		c.push(s)
		if i < len(c.streams) && c.streams[i] == s {
			i++
		}
	}
}
