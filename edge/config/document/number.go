package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Integer reads a whole number from low to high, in plain decimal digits.
func Integer(s string, low, high int64) (int64, error) {
	if !plain(strings.TrimPrefix(s, "-")) {
		return 0, fmt.Errorf("must be a whole number in plain digits, not %s%s",
			Show(s), plainHint(s))
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be %d to %d, not %s", low, high, Clip(s))
	}
	return n, nil
}

// plain reports whether s is a decimal number nobody reads in another way.
func plain(s string) bool { return Decimal(s) && (s == "0" || s[0] != '0') }

// plainHint suggests how to write a number that is whole but written in another way. A leading
// nought means ten to a reader and eight to another, so nothing is suggested for it.
func plainHint(s string) string {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1e15 || strings.HasPrefix(s, "0") {
		return ""
	}
	return fmt.Sprintf(": write %.0f", f)
}
