package h2

// keepsTable reports whether block leaves the dynamic table the same: all fields are of the tables,
// by index, or not to be put there. nghttp2, and Envoy with it, sends :path and content-length so
// each time. A block is looked at once, when it is new; RFC 7541, 6, has the five forms by the
// first bits: 1 an index, 01 a literal to be put into the table, 001 a size, 0001 a literal never
// to be, 0000 a literal outside the table.
func keepsTable(block []byte) bool {
	for len(block) > 0 {
		switch first := block[0]; {
		case first >= 0x80: // an index
			if _, block = hpackNumber(block, 7); block == nil {
				return false
			}
		case first >= 0x20: // to be put into the table, or its size
			return false
		default:
			// 0 stands for a name following as a text.
			name, rest := hpackNumber(block, 4)
			if block = rest; name == 0 && block != nil {
				block = hpackText(block)
			}
			if block = hpackText(block); block == nil {
				return false
			}
		}
	}
	return true
}

// hpackNumber reads a number of HPACK with a prefix of so many bits in the first byte, up to 2 bytes more. rest is
// nil for a longer or cut number. RFC 7541, 5.1: if all bits of the prefix are 1 the rest follows
// in groups of seven, least first. With 5 bits 31 154 10 is 1337. Two more bytes are 16,383 beyond
// the prefix, enough for any block kept.
func hpackNumber(b []byte, bits int) (n int, rest []byte) {
	if len(b) == 0 {
		return 0, nil
	}
	most := 1<<bits - 1
	if n = int(b[0]) & most; n < most {
		return n, b[1:]
	}
	for i, shift := 1, 0; i < min(len(b), 3); i, shift = i+1, shift+7 {
		n += int(b[i]&0x7f) << shift
		if b[i] < 0x80 {
			return n, b[i+1:]
		}
	}
	return 0, nil
}

// hpackText skips a text of HPACK. rest is nil for a cut text. Whether the text is in Huffman code,
// the first bit of the length, does not matter to a skip.
func hpackText(b []byte) (rest []byte) {
	n, rest := hpackNumber(b, 7)
	if rest == nil || n > len(rest) {
		return nil
	}
	return rest[n:]
}
