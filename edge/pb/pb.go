// Package pb reads and writes protobuf by hand. Messages of headgate's protocols have a handful of
// fields, are read once, and on the path of a request nothing may be allocated for them.
package pb

import "encoding/binary"

// The wire types of protobuf.
const (
	Varint  = 0
	Fixed64 = 1
	Bytes   = 2
	Fixed32 = 5
)

// Walker walks over the fields of a protobuf message, neither copied nor changed. Messages here
// have a handful of fields and are read once: a walk over the bytes makes no structs and allocates
// nothing.
type Walker struct {
	rest   []byte
	Bad    bool   // the message is malformed: Next returned false for it
	Number uint64 // of the field
	Kind   byte   // Varint, Fixed64, Bytes or Fixed32
	Value  uint64 // of a Varint
	Data   []byte // of Bytes: texts and messages too; of Fixed64 and Fixed32, little-endian
}

// Walk returns a Walker over message.
func Walk(message []byte) Walker { return Walker{rest: message} }

// Next goes to the next field. False at the end, and where the message is malformed. A tag is
// number << 3 | kind. Fields nobody asks for are skipped, which is how protobuf stays compatible.
func (w *Walker) Next() bool {
	if len(w.rest) == 0 {
		return false
	}
	tag := w.uvarint()
	w.Number, w.Kind, w.Value, w.Data = tag>>3, byte(tag&7), 0, nil // three bits
	switch {
	// Numbers have 29 bits; 0 is none.
	case w.Bad || w.Number == 0 || tag > 1<<32-1:
		w.Bad = true
	case w.Kind == Varint:
		w.Value = w.uvarint()
	case w.Kind == Bytes:
		w.Data = w.take(w.uvarint())
	case w.Kind == Fixed64:
		w.Data = w.take(8)
	case w.Kind == Fixed32:
		w.Data = w.take(4)
	default:
		w.Bad = true // groups are not in these messages, and without an end they cannot be skipped
	}
	return !w.Bad
}

// Is reports whether the field is number.
func (w *Walker) Is(number uint64, kind byte) bool { return w.Number == number && w.Kind == kind }

// uvarint reads a Varint. Nearly all tags, lengths and numbers are below 128: a byte.
func (w *Walker) uvarint() uint64 {
	if len(w.rest) > 0 && w.rest[0] < 0x80 {
		v := uint64(w.rest[0])
		w.rest = w.rest[1:]
		return v
	}
	v, n := binary.Uvarint(w.rest)
	if n <= 0 {
		w.Bad = true
		return 0
	}
	w.rest = w.rest[n:]
	return v
}

// take reads n bytes.
func (w *Walker) take(n uint64) []byte {
	if w.Bad || n > uint64(len(w.rest)) {
		w.Bad = true
		return nil
	}
	b := w.rest[:n]
	w.rest = w.rest[n:]
	return b
}

// Pair returns the fields 1 and 2 of a message that are bytes, as an entry of a map has them.
func Pair(message []byte) (first, second []byte, ok bool) {
	w := Walk(message)
	for w.Next() {
		switch {
		case w.Is(1, Bytes):
			first = w.Data
		case w.Is(2, Bytes):
			second = w.Data
		}
	}
	return first, second, !w.Bad
}

// Wrapped returns the value in a message of the UInt64Value kind: field 1, 0 if left out. A wrapper
// tells "0" from "not given", which a plain number of proto3 cannot.
func Wrapped(message []byte) (value uint64, ok bool) {
	w := Walk(message)
	for w.Next() {
		if w.Is(1, Varint) {
			value = w.Value
		}
	}
	return value, !w.Bad
}

// AppendNumber appends a Varint field; 0 is the default and left out. proto3 leaves defaults out:
// filled in by the reader.
func AppendNumber(b []byte, number int, value uint64) []byte {
	if value == 0 {
		return b
	}
	return binary.AppendUvarint(append(b, byte(number<<3|Varint)), value) // numbers below 16
}

// AppendBytes appends a field of bytes; nothing is the default and left out.
func AppendBytes(b []byte, number int, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	b = binary.AppendUvarint(append(b, byte(number<<3|Bytes)), uint64(len(value))) // as above
	return append(b, value...)
}

// Begin appends the head of a message in field number. The content follows, until End. The length
// is a byte until End knows better, so most messages are written once.
func Begin(b []byte, number int) ([]byte, int) {
	b = append(b, byte(number<<3|Bytes), 0) // as above
	return b, len(b)
}

// End sets the length of the message whose content begins at.
func End(b []byte, at int) []byte {
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
