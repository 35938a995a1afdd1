package h2

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
)

// prefixBytes is the size of the prefix of a message: whether it is compressed, and its length.
// "Length-Prefixed-Message" in gRPC's protocol: one byte of flag, four of length, most significant
// first.
const prefixBytes = 5

// tooLong reports whether the body of a call is longer than with the longest message.
func (s *stream) tooLong() bool { return s.kind != noCall && s.size > MaxMessage+prefixBytes }

// message returns the single message in the body of s's request. The codes are from gRPC's
// documents on status codes and on compression .
func (c *Conn) message(s *stream, body []byte) ([]byte, Status) {
	switch {
	case s.tooLong():
		return nil, tooLong
	// A unary call has a single message, neither none nor two.
	case len(body) == 0:
		return nil, Status{Unimplemented, "the call has no message"}
	case len(body) < prefixBytes:
		return nil, cutShort
	}
	size, rest := int64(binary.BigEndian.Uint32(body[1:])), body[prefixBytes:]
	switch {
	case size > MaxMessage:
		return nil, tooLong
	case int64(len(rest)) < size:
		return nil, cutShort
	case int64(len(rest)) > size:
		return nil, Status{Unimplemented, "the call has more than one message"}
	case body[0] == 0:
		return rest, Status{}
	case body[0] != 1:
		return nil, Status{InvalidArgument, "the message's first byte is neither 0 nor 1"}
	case s.kind == identity:
		return nil, Status{Internal, "the message is compressed, and grpc-encoding does not say " +
			"how"}
	case s.kind != gzipped:
		return nil, Status{Unimplemented, "messages may be compressed by gzip only"}
	}
	return c.unpacker.unpack(rest)
}

var (
	tooLong  = Status{ResourceExhausted, "a message has at most 65536 bytes"}
	cutShort = Status{InvalidArgument, "the message is cut short"}
	noMethod = Status{Unimplemented, "headgate does not have this method"}
)

// early answers a call whose request has not ended and whose answer no end can change: with a
// status, or for a too long message.
func (c *Conn) early(s *stream, status Status) error {
	c.rate.turn(c.now)
	c.rate.answers++
	if status != tooLong {
		c.answerError(s, status)
		return nil
	}
	err := c.call(s, nil)
	s.ended = true // where its answer waits for a window
	return err
}

// unpacker decompresses messages, in turn. Made for the first compressed message, as most
// connections never see any: a decompressor takes some 40 KiB.
type unpacker struct {
	source bytes.Reader
	reader *gzip.Reader // nil before the first message
	plain  []byte
}

// unpack decompresses message. The result holds until the next.
func (u *unpacker) unpack(message []byte) ([]byte, Status) {
	u.source.Reset(message)
	if u.reader == nil {
		u.reader = new(gzip.Reader)
	}
	if u.reader.Reset(&u.source) != nil {
		return nil, notGzip
	}
	if u.plain == nil {
		u.plain = []byte{} // an empty message is none that is too long
	}
	plain := bytes.NewBuffer(u.plain[:0])
	// A byte more than allowed, so a message of exactly the most is told from a longer message, and
	// a bomb is cut there.
	_, err := io.Copy(plain, io.LimitReader(u.reader, MaxMessage+1))
	u.plain = plain.Bytes()
	switch {
	case err != nil:
		return nil, notGzip
	case len(u.plain) > MaxMessage:
		return nil, tooLong
	}
	return u.plain, Status{}
}

var notGzip = Status{InvalidArgument, "the message is not gzip"}

// encodingOf returns how messages are encoded.
func encodingOf(name string) kind {
	switch name {
	case "", "identity":
		return identity
	case "gzip":
		return gzipped
	}
	return otherEncoding
}
