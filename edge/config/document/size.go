package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// unit is a unit of memory, and how many bytes it is.
type unit struct {
	name  string
	bytes int64
}

// units are the units of memory, greatest first. The decimal units (MB) are refused: nobody agrees
// whether they are decimal.
var units = []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

// Size reads an amount of memory from low to high: 64MiB, or 67108864 in bytes.
func Size(s string, low, high int64) (int64, error) {
	n, ok := bytesOf(s)
	switch {
	case !ok:
		return 0, fmt.Errorf("must be a size such as 512KiB, 64MiB or 1GiB, not %s%s",
			Show(s), unitHint(s))
	case n < low || n > high:
		return 0, fmt.Errorf("must be %s to %s, not %s", InUnits(low), InUnits(high), Clip(s))
	}
	return n, nil
}

// bytesOf returns the bytes s stands for; more than fit are as many as fit.
func bytesOf(s string) (int64, bool) {
	digits, name := cutDigits(s)
	for _, u := range units {
		if u.name == name && plain(digits) {
			// a number that is too large reads as the largest
			n, _ := strconv.ParseInt(digits, 10, 64)
			return min(n, math.MaxInt64/u.bytes) * u.bytes, true
		}
	}
	return 0, false
}

// unitHint suggests the right unit for those that people write instead.
func unitHint(s string) string {
	digits, name := cutDigits(s)
	name = strings.ToUpper(strings.TrimSpace(name))
	for _, u := range units {
		if u.name == "" || !plain(digits) {
			continue
		}
		letter := u.name[:1]
		if name == letter || name == letter+"B" || name == letter+"I" || name == letter+"IB" {
			return ": write " + Clip(digits) + u.name
		}
	}
	return ""
}

// cutDigits returns the digits s begins with, and the rest.
func cutDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// InUnits writes n bytes in the greatest unit that divides them.
func InUnits(n int64) string {
	i := slices.IndexFunc(units, func(u unit) bool { return n%u.bytes == 0 })
	return strconv.FormatInt(n/units[i].bytes, 10) + units[i].name
}
