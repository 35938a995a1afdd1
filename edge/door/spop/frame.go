package spop

import (
	"encoding/binary"
	"net/netip"
)

// The types of frames.
// Those below 100 are HAProxy's, the others an agent's.
const (
	haproxyHello      = 1
	haproxyDisconnect = 2
	haproxyNotify     = 3
	agentHello        = 101
	agentDisconnect   = 102
	agentAck          = 103
)

// The flags of a frame, and its sizes.
const (
	flagFin     = 1
	flagAbort   = 2
	lengthBytes = 4 // in front of each frame
	// type, flags, and two ids of a byte
	leastFrame = 1 + 4 + 1 + 1
	smallest   = 256 // the least max-frame-size of the protocol
	// HAProxy's own default, tune.bufsize less the length
	maxFrame = 16384 - 4 // the largest frame taken, in bytes without its length
)

// status is a fault as DISCONNECT says it.
type status uint32

// The faults this agent says, with the numbers of the protocol.
const (
	normal           status = 0
	idleTooLong      status = 2
	tooBig           status = 3
	badFrame         status = 4
	noVersion        status = 5
	noFrameSize      status = 6
	noCapabilities   status = 7
	otherVersion     status = 8
	badFrameSize     status = 9
	fragmented       status = 10
	tooManyResources status = 13
	unknownFault     status = 99
)

// text is the message that goes with a fault.
func (s status) text() string {
	switch s {
	case normal:
		return "the agent stops"
	case idleTooLong:
		return "nothing came for too long"
	case tooBig:
		return "the frame is too big"
	case noVersion:
		return "supported-versions is missing"
	case noFrameSize:
		return "max-frame-size is missing"
	case noCapabilities:
		return "capabilities is missing"
	case otherVersion:
		return "the version is not 2.0"
	case badFrameSize:
		return "max-frame-size is too small"
	case fragmented:
		return "fragments are not taken"
	case tooManyResources:
		return "too many connections"
	case unknownFault:
		return "a fault of the agent"
	case badFrame:
	}
	return "the frame is malformed"
}

// frame is a frame. Its slices lie in the buffer of the connection.
type frame struct {
	kind  byte
	flags uint32
	// An ACK repeats them as they came: they need not be understood.
	ids     []byte // stream and frame, as they came
	zero    bool   // both ids are 0
	payload []byte
}

// parseFrame reads a frame without its length.
// type (1 byte), flags (4, most significant first), stream id and frame id (varints), payload.
func parseFrame(b []byte) (f frame, ok bool) {
	if len(b) < leastFrame {
		return f, false
	}
	f.kind, f.flags = b[0], binary.BigEndian.Uint32(b[1:])
	rest := b[5:]
	stream, after, ok := takeVarint(rest)
	if !ok {
		return f, false
	}
	number, after, ok := takeVarint(after)
	f.ids, f.payload, f.zero = rest[:len(rest)-len(after)], after, stream == 0 && number == 0
	return f, ok
}

// takeVarint reads a number: below 240 a byte; else its low four bits, with 0xf0 set, and the rest
// above in groups of seven bits, of which all but the last have the high bit set. 240 is f0 00,
// 2287 is ff 7f, 2288 is f0 80 00. It is not the varint of protobuf.
func takeVarint(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	n = uint64(b[0])
	if n < 240 {
		return n, b[1:], true
	}
	for i, shift := 1, 4; i < len(b) && shift < 64; i, shift = i+1, shift+7 {
		n += uint64(b[i]) << shift
		if b[i] < 128 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}

// appendVarint appends n as takeVarint reads it.
func appendVarint(b []byte, n uint64) []byte {
	if n < 240 {
		return append(b, byte(n))
	}
	b = append(b, byte(n)|0xf0)
	for n = (n - 240) >> 4; n >= 128; n = (n - 128) >> 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// takeText reads a string: its length, then its bytes.
// The length is compared before it becomes an int: a peer may claim 2^63.
func takeText(b []byte) (text, rest []byte, ok bool) {
	n, rest, ok := takeVarint(b)
	if !ok || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

// appendText appends s as takeText reads it.
func appendText[T string | []byte](b []byte, s T) []byte {
	return append(appendVarint(b, uint64(len(s))), s...)
}

// kind is the type of a value.
type kind byte

// The types of values.
const (
	null kind = iota
	boolean
	int32s
	uint32s
	int64s
	uint64s
	ipv4
	ipv6
	text
	binaryText
)

// value is a typed value.
type value struct {
	kind   kind
	text   []byte     // of text and binaryText
	number uint64     // of numbers; 1 for true
	addr   netip.Addr // of addresses
}

// takeValue reads a typed value. Types the protocol does not have are a fault, as their length is
// not known. The lower four bits of the first byte are the type, the upper ones flags; only a
// boolean uses a flag.
func takeValue(b []byte) (v value, rest []byte, ok bool) {
	if len(b) == 0 {
		return v, nil, false
	}
	v.kind, rest = kind(b[0]&15), b[1:]
	switch v.kind {
	case null:
		return v, rest, true
	case boolean:
		v.number = uint64(b[0] >> 4 & 1)
		return v, rest, true
	case int32s, uint32s, int64s, uint64s:
		v.number, rest, ok = takeVarint(rest)
	case ipv4:
		if ok = len(rest) >= 4; ok {
			v.addr, rest = netip.AddrFrom4([4]byte(rest)), rest[4:]
		}
	case ipv6:
		if ok = len(rest) >= 16; ok {
			// An IPv4 address that came over an IPv6 socket is the same client.
			v.addr, rest = netip.AddrFrom16([16]byte(rest)).Unmap(), rest[16:]
		}
	case text, binaryText:
		v.text, rest, ok = takeText(rest)
	}
	return v, rest, ok
}

// takePair reads a name and a value.
func takePair(b []byte) (name []byte, v value, rest []byte, ok bool) {
	if name, rest, ok = takeText(b); ok {
		v, rest, ok = takeValue(rest)
	}
	return name, v, rest, ok
}
