package guard

import "encoding/binary"

// memberlist's messages are msgpack: flat maps of names to numbers, texts and bytes. Nested values
// are refused, because a few bytes can unpack to many.

// skipFields returns the bytes after the flat map at the start of b, and whether there is a map.
// Integer fields are stored in numbers, by name.
func skipFields(b []byte, numbers map[string]*int64) (rest []byte, ok bool) {
	if len(b) == 0 || b[0]&0xf0 != 0x80 { // fixmap: up to 15 fields
		return nil, false
	}
	fields := int(b[0] & 0x0f)
	for b = b[1:]; fields > 0; fields-- {
		var name []byte
		if name, b, ok = shortText(b); !ok {
			return nil, false
		}
		size, whole := valueBytes(b)
		if !whole {
			return nil, false
		}
		if to := numbers[string(name)]; to != nil {
			if *to, ok = integer(b[:size]); !ok {
				return nil, false
			}
		}
		b = b[size:]
	}
	return b, true
}

// shortText splits a text of up to 31 bytes off b: the form of field names.
func shortText(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0]&0xe0 != 0xa0 || len(b) <= int(b[0]&0x1f) {
		return nil, nil, false
	}
	end := 1 + int(b[0]&0x1f)
	return b[1:end], b[end:], true
}

// valueBytes returns the length of the value at the start of b, and whether complete and flat.
func valueBytes(b []byte) (size int, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	switch c := b[0]; {
	case c <= 0x7f || c >= 0xe0: // a small number
		size = 1
	case c >= 0xa0 && c <= 0xbf: // a short text
		size = 1 + int(c&0x1f)
	case c == 0xc0, c == 0xc2, c == 0xc3: // nil, false, true
		size = 1
	case c >= 0xca && c <= 0xd3: // numbers
		size = 1 + [...]int{4, 8, 1, 2, 4, 8, 1, 2, 4, 8}[c-0xca]
	case c >= 0xc4 && c <= 0xc6: // bytes, after one, two or four of their length
		return textBytes(b, 1<<(c-0xc4))
	case c >= 0xd9 && c <= 0xdb: // text likewise
		return textBytes(b, 1<<(c-0xd9))
	default: // holds others, or is none
		return 0, false
	}
	return size, size <= len(b)
}

// textBytes is valueBytes for a text or bytes whose length follows the type in lengthBytes bytes.
func textBytes(b []byte, lengthBytes int) (size int, ok bool) {
	if len(b) < 1+lengthBytes {
		return 0, false
	}
	var n uint64
	for _, digit := range b[1 : 1+lengthBytes] {
		n = n<<8 | uint64(digit)
	}
	size = 1 + lengthBytes + int(n) // below 2^33
	return size, size <= len(b)
}

// integer decodes a complete value as an integer.
func integer(b []byte) (n int64, ok bool) {
	switch c := b[0]; {
	case c <= 0x7f || c >= 0xe0:
		return int64(int8(c)), true
	case c == 0xcc:
		return int64(b[1]), true
	case c == 0xcd:
		return int64(binary.BigEndian.Uint16(b[1:])), true
	case c == 0xce:
		return int64(binary.BigEndian.Uint32(b[1:])), true
	case c == 0xcf, c == 0xd3:
		return int64(binary.BigEndian.Uint64(b[1:])), true
	case c == 0xd0:
		return int64(int8(b[1])), true
	case c == 0xd1:
		return int64(int16(binary.BigEndian.Uint16(b[1:]))), true
	case c == 0xd2:
		return int64(int32(binary.BigEndian.Uint32(b[1:]))), true
	}
	return 0, false
}
