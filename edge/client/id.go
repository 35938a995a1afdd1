package client

// An id is six characters of six bits: short enough for 40 queries about addresses in a datagram,
// and at a million queries a second no id is used again within 19 hours.
const (
	idLen    = 6
	idBits   = 6 * idLen
	idMask   = 1<<idBits - 1
	idDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
)

// digitOf is the value of each of idDigits, 64 for any other byte.
var digitOf = digitValues()

func digitValues() (t [256]uint8) {
	for i := range t {
		t[i] = 64
	}
	for v := range len(idDigits) {
		t[idDigits[v]] = uint8(v)
	}
	return t
}

// nextID returns the n-th id after id, 0 to 2^36-1: after the last id comes 0.
func nextID(id uint64, n int) uint64 { return (id + uint64(n)) & idMask }

// appendID appends the six characters of id, which is below 2^36.
func appendID(dst []byte, id uint64) []byte {
	for shift := idBits - 6; shift >= 0; shift -= 6 {
		dst = append(dst, idDigits[id>>shift&63])
	}
	return dst
}

// parseID returns the id appendID wrote, and false for any other bytes.
func parseID(b []byte) (id uint64, ok bool) {
	if len(b) != idLen {
		return 0, false
	}
	ok = true
	for _, c := range b {
		v := digitOf[c]
		ok = ok && v < 64
		id = id<<6 | uint64(v&63)
	}
	return id, ok
}
