package wire

import "strconv"

// Digits of a decimal before and behind the point.
const (
	maxBefore = 15
	maxBehind = 9
)

// million is the parts of a unit in which costs travel.
const million = 1_000_000

// ParseDecimal reads 1 to 15 digits, and behind a point 1 to 9 more, in parts of which a unit has
// ten to the power of scale, 0 to 6. The rest of a part counts as a whole one; exact: there
// is none. At most about 10^18.
func ParseDecimal(b []byte, scale int) (parts uint64, exact, ok bool) {
	whole, behind, _ := cut(b, '.')
	if !isDecimal(b) || len(whole) > maxBefore || len(behind) > maxBehind {
		return 0, false, false
	}
	for _, c := range whole {
		parts = parts*10 + uint64(c-'0')
	}
	for i := range scale {
		if parts = min(parts, million*million*million/10) * 10; i < len(behind) {
			parts += uint64(behind[i] - '0')
		}
	}
	exact = true
	for _, c := range behind[min(scale, len(behind)):] {
		exact = exact && c == '0'
	}
	if !exact {
		parts++
	}
	return parts, exact, true
}

// AppendDecimal appends parts, of which a unit has ten to the power of scale, in units: without
// zeros at the end.
func AppendDecimal(dst []byte, parts uint64, scale int) []byte {
	unit := uint64(1)
	for range scale {
		unit *= 10
	}
	dst = strconv.AppendUint(dst, parts/unit, 10)
	if parts %= unit; parts == 0 {
		return dst
	}
	dst = append(dst, '.')
	for parts > 0 {
		unit /= 10
		dst = append(dst, byte('0'+parts/unit))
		parts %= unit
	}
	return dst
}

// ParseCost reads a cost above 0 and up to MaxCost. A cost with a point has millionths, 1 to
// 1000000, beside the whole units; a cost without has none.
func ParseCost(b []byte) (units, millionths uint32, ok bool) {
	if n, ok := parseUint(b, MaxCost); ok { // as nearly all are
		return uint32(n), 0, n > 0
	}
	parts, _, ok := ParseDecimal(b, 6)
	if _, _, point := cut(b, '.'); point && parts > 0 {
		millionths = uint32((parts-1)%million) + 1
	}
	if !ok || parts == 0 || parts > MaxCost*million || len(b) > 1 && b[0] == '0' && b[1] != '.' {
		return 0, 0, false
	}
	return uint32((parts - uint64(millionths)) / million), millionths, true
}
