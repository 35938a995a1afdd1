package wire

// class gives for each byte the places where it may stand: one load a byte, whatever the question.
// (Eight bytes of a key at a time were tried; an address is too short to gain.)
var class = classes()

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

// span returns the index of the first byte of b, from i on, that is not of
// class c; len(b) where there is none.
func span(b []byte, i int, c uint8) int {
	for i < len(b) && class[b[i]]&c != 0 {
		i++
	}
	return i
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
