package h2

import (
	"encoding/binary"
	"strconv"
)

// table is the state of the peer's table of response headers. Two fields are put in it, the content
// type first, and named by their index from then on. Responses differ in their messages, not in
// their fields. After the first answer headers are a byte of HPACK (RFC 7541, 6.1) and so are
// trailers; a decoder on the other side looks both up.
type table struct {
	typed, status bool // they are in it
	off           bool // the peer's table is smaller than the default: nothing is put in it
	empty         bool // the next block begins by emptying it
}

// limit takes the size the peer's table may have. The two entries take 130 bytes (RFC 7541, 4.1,
// counts 32 beside each name and value). The fit into a smaller table is not worth the question:
// the few clients lowering the table's size are answered without.
func (t *table) limit(size uint32) {
	if size < tableSize && !t.off {
		*t = table{off: true, empty: true}
	}
}

// The fields of responses, in HPACK without a table. In hexadecimal: 0x10 and 0x0a are the lengths
// of the values. 0x0f 0x10 is a literal that is not put into the table, with name 31 of the static
// table: 15 fills the four bits, 16 follows (RFC 7541, 6.2.2 and 5.1).
const (
	typeGRPC = "\x10application/grpc"
	typeText = "\x0f\x10\x0atext/plain" // content-type, not put into the table
	statusOK = "\x0bgrpc-status\x010"
	// :status 200 is entry 8 of the static table, RFC 7541, appendix A.
	index200 = 0x88
	// The static table has 61 entries; the newest dynamic entry is always 62 (2.3.3).
	firstOwnIndex = 62
)

// begin appends the head of a HEADERS frame, whose size finishBlock sets.
func (t *table) begin(b []byte, id uint32, flags byte) []byte {
	b = appendHead(b, 0, frameHeaders, flagEndHeaders|flags, id)
	if t.empty {
		t.empty = false
		// A size update to 0 (RFC 7541, 6.3): required at the start of the first block after the
		// peer has lowered the size, and it removes both entries.
		b = append(b, 0x20)
	}
	return b
}

// finishBlock sets the size of the frame beginning at. A block of ours is far below the 16 KiB of a
// frame, so it never needs CONTINUATION.
func finishBlock(b []byte, at int) []byte {
	size := len(b) - at - headBytes
	b[at], b[at+1], b[at+2] = byte(size>>16), byte(size>>8), byte(size) // its bytes
	return b
}

// appendType appends the content type of gRPC.
func (t *table) appendType(b []byte) []byte {
	switch {
	case t.off:
		return append(append(b, 0x0f, 0x10), typeGRPC...)
	// The status was put in after it, and is the newer: the type has moved up by 1.
	case t.typed && t.status:
		return append(b, 0x80|(firstOwnIndex+1))
	case t.typed:
		return append(b, 0x80|firstOwnIndex)
	}
	t.typed = true
	// 0x40|31: a literal put into the table, with name 31 of the static table, content-type (RFC
	// 7541, 6.2.1).
	return append(append(b, 0x5f), typeGRPC...)
}

// appendResponse appends the headers of an answer that has a message.
func (t *table) appendResponse(b []byte, id uint32) []byte {
	at := len(b)
	return finishBlock(t.appendType(append(t.begin(b, id, 0), index200)), at)
}

// appendTrailers appends the end of an answer that has a message.
func (t *table) appendTrailers(b []byte, id uint32) []byte {
	at := len(b)
	b = t.begin(b, id, flagEndStream)
	switch {
	case t.off:
		// A literal with a name of its own that is not put into the table.
		b = append(append(b, 0), statusOK...)
	case t.status:
		b = append(b, 0x80|firstOwnIndex)
	default:
		t.status = true
		b = append(append(b, 0x40), statusOK...)
	}
	return finishBlock(b, at)
}

// appendError appends an answer of a status alone.
// Errors are rare and their texts differ, so they are not put into the table: they would push the
// others out.
func (t *table) appendError(b []byte, id uint32, status Status) []byte {
	at := len(b)
	b = t.appendType(append(t.begin(b, id, flagEndStream), index200))
	b = appendField(b, "grpc-status", strconv.AppendUint(nil, uint64(status.Code), 10))
	b = appendField(b, "grpc-message", appendPercent(nil, status.Message))
	// gRPC asks for it where an encoding is not known, so the client can try a known encoding.
	if status.Code == Unimplemented {
		b = appendField(b, "grpc-accept-encoding", []byte("identity,gzip"))
	}
	return finishBlock(b, at)
}

// appendHTTP appends the headers of an answer to a request that is no call.
func (t *table) appendHTTP(b []byte, id uint32, status, length int) []byte {
	at := len(b)
	// :status without its value is entry 8; 3 is the length of the digits that follow.
	b = append(t.begin(b, id, 0), 0x08, 3) // :status, not put into the table
	b = append(strconv.AppendInt(b, int64(status), 10), typeText...)
	n := strconv.Itoa(length)
	// Entry 28 = 15 + 13.
	b = append(append(b, 0x0f, 0x0d, byte(len(n))), n...) // content-length
	return finishBlock(b, at)
}

// appendField appends a field that is not put into the table. Its value is cut at 1 KiB.
// No Huffman code: errors are not worth the table, and a decoder takes either.
func appendField(b []byte, name string, value []byte) []byte {
	value = value[:min(len(value), 1<<10)]
	b = append(append(b, 0, byte(len(name))), name...)
	if len(value) < 0x7f {
		b = append(b, byte(len(value)))
	} else {
		// HPACK's integers go on like these
		b = binary.AppendUvarint(append(b, 0x7f), uint64(len(value)-0x7f))
	}
	return append(b, value...)
}

// appendPercent appends text as grpc-message has it. "Percent-encoded" there means UTF-8 bytes
// outside 0x20 to 0x7e and % itself as %XX: "zu spät" becomes "zu sp%C3%A4t". Nothing the text
// holds can end the field.
func appendPercent(b []byte, text string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}
