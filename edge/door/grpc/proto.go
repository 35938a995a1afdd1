package grpc

import "encoding/binary"

// The wire types of protobuf.
const (
	varint  = 0
	fixed64 = 1
	bytesOf = 2
	fixed32 = 5
)

// walker walks over the fields of a protobuf message, neither copied nor changed. Messages here
// have a handful of fields and are read once: a walk over the bytes makes no structs and allocates
// nothing.
type walker struct {
	rest   []byte
	bad    bool // the message is malformed: next returned false for it
	number uint64
	kind   byte
	value  uint64 // of a varint
	data   []byte // of bytes, strings and messages
}

// walk returns a walker over message.
func walk(message []byte) walker { return walker{rest: message} }

// next goes to the next field. False at the end, and where the message is malformed. A tag is
// number << 3 | kind. Fields nobody asks for are skipped, which is how protobuf stays compatible.
func (w *walker) next() bool {
	if len(w.rest) == 0 {
		return false
	}
	tag := w.uvarint()
	w.number, w.kind, w.value, w.data = tag>>3, byte(tag&7), 0, nil // three bits
	switch {
	// Numbers have 29 bits; 0 is none.
	case w.bad || w.number == 0 || tag > 1<<32-1:
		w.bad = true
	case w.kind == varint:
		w.value = w.uvarint()
	case w.kind == bytesOf:
		w.data = w.take(w.uvarint())
	case w.kind == fixed64:
		w.take(8)
	case w.kind == fixed32:
		w.take(4)
	default:
		w.bad = true // groups are not in these messages, and without an end they cannot be skipped
	}
	return !w.bad
}

// is reports whether the field is number.
func (w *walker) is(number uint64, kind byte) bool { return w.number == number && w.kind == kind }

// uvarint reads a varint. Nearly all tags, lengths and numbers are below 128: a byte.
func (w *walker) uvarint() uint64 {
	if len(w.rest) > 0 && w.rest[0] < 0x80 {
		v := uint64(w.rest[0])
		w.rest = w.rest[1:]
		return v
	}
	v, n := binary.Uvarint(w.rest)
	if n <= 0 {
		w.bad = true
		return 0
	}
	w.rest = w.rest[n:]
	return v
}

// take reads n bytes.
func (w *walker) take(n uint64) []byte {
	if w.bad || n > uint64(len(w.rest)) {
		w.bad = true
		return nil
	}
	b := w.rest[:n]
	w.rest = w.rest[n:]
	return b
}

// wrapped returns the value in a message of the UInt64Value kind: field 1, 0 if left out. A wrapper
// tells "0" from "not given", which a plain number of proto3 cannot.
func wrapped(message []byte) (value uint64, ok bool) {
	w := walk(message)
	for w.next() {
		if w.is(1, varint) {
			value = w.value
		}
	}
	return value, !w.bad
}

// appendNumber appends a varint field; 0 is the default and left out. proto3 leaves defaults out:
// filled in by the reader.
func appendNumber(b []byte, number int, value uint64) []byte {
	if value == 0 {
		return b
	}
	return binary.AppendUvarint(append(b, byte(number<<3|varint)), value) // numbers below 16
}

// appendBytes appends a field of bytes; nothing is the default and left out.
func appendBytes(b []byte, number int, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	b = binary.AppendUvarint(append(b, byte(number<<3|bytesOf)), uint64(len(value))) // as above
	return append(b, value...)
}

// begin appends the head of a message in field number. The content follows, until end. The length
// is a byte until end knows better, so most messages are written once.
func begin(b []byte, number int) ([]byte, int) {
	b = append(b, byte(number<<3|bytesOf), 0) // as above
	return b, len(b)
}

// end sets the length of the message whose content begins at.
func end(b []byte, at int) []byte {
	size := len(b) - at
	if size < 0x80 {
		b[at-1] = byte(size)
		return b
	}
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(size)) // not negative
	// The content is moved by as many bytes as the length needs more; some hundred bytes.
	b = append(b, length[1:n]...) // makes room
	copy(b[at+n-1:], b[at:at+size])
	copy(b[at-1:], length[:n])
	return b
}
