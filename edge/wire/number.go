package wire

// maxDigits is how long the decimal form of an int64 may be.
const maxDigits = 19

// appendUint appends v in decimal. Most numbers of a reply have a digit or two.
func appendUint(dst []byte, v uint64) []byte {
	switch {
	case v < 10:
		return append(dst, byte('0'+v))
	case v < 100:
		return append(dst, byte('0'+v/10), byte('0'+v%10))
	}
	var digits [maxDigits + 1]byte
	i := len(digits)
	for ; v >= 10; v /= 10 {
		i--
		digits[i] = byte('0' + v%10)
	}
	i--
	digits[i] = byte('0' + v)
	return append(dst, digits[i:]...)
}

// parseUint reads all of b as a decimal number of at most limit. There is a single way to write a
// number: no sign, no leading zero.
func parseUint(b []byte, limit uint64) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > maxDigits || (b[0] == '0' && len(b) > 1) {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, v <= limit
}
