package wire

import (
	"encoding/binary"
	"math/bits"
)

// class gives for each byte the places for the byte: a load a byte, for any question.
var class = classes()

// A byte may be of several classes: a bit each.
const (
	inRule  uint8 = 1 << iota // A-Z a-z 0-9 _ . -
	inToken                   // tchar of RFC 9110, section 5.6.2
	inKey                     // stands for itself in a key: not <= 0x20, not 0x7f, not %
	inWord                    // may stand in an option at all: not <= 0x20, not 0x7f
)

func classes() (t [256]uint8) {
	for i := range t {
		if b := byte(i); b > ' ' && b != 0x7f {
			t[i] |= inKey | inWord
		}
	}
	// Begins an escape.
	t['%'] &^= inKey
	mark(&t, inRule|inToken, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
	mark(&t, inToken, "!#$%&'*+^`|~")
	return t
}

func mark(t *[256]uint8, c uint8, bytes string) {
	for i := range len(bytes) {
		t[bytes[i]] |= c
	}
}

// span returns the index of the first byte of b, from i on, outside class c; len(b) where there is
// none.
func span(b []byte, i int, c uint8) int {
	for i < len(b) && class[b[i]]&c != 0 {
		i++
	}
	return i
}

// keySpan is span for inKey, eight bytes at a time.
func keySpan(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if found := noKey(binary.LittleEndian.Uint64(b[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	if len(b) < 8 {
		return span(b, i, inKey)
	}
	// The last eight bytes, with zeros in place of bytes before i; the first zero ends the key.
	last := binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * (8 + i - len(b)))
	return i + bits.TrailingZeros64(noKey(last))/8
}

// noKey returns the highest bit of each byte of word outside class inKey; above the first such
// byte, perhaps of others, too. The trick of strlen: (word - 0x01…) & ^word has the high bit of
// each byte equal to 0, here of each below '!' or equal to either of the two.
func noKey(word uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	percent, del := word^ones*'%', word^ones*0x7f
	return ((word-ones*'!')&^word | (percent-ones)&^percent | (del-ones)&^del) & highs
}

// all reports whether every byte of b is of class c.
func all(b []byte, c uint8) bool { return span(b, 0, c) == len(b) }

// unhex is the value of each hexadecimal digit, 16 for any other byte.
var unhex = hexValues()

func hexValues() (t [256]uint8) {
	for i := range t {
		t[i] = 16
	}
	for v := range uint8(16) {
		t["0123456789abcdef"[v]] = v
		t["0123456789ABCDEF"[v]] = v
	}
	return t
}
