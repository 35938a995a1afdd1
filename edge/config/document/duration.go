package document

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration reads a duration from low to high with its unit, such as 1m30s.
// Go's own form, so without days: 1d is a fault with a hint, as a day is not always 24 hours
// elsewhere.
func Duration(s string, low, high time.Duration) (time.Duration, error) {
	t, err := time.ParseDuration(s)
	switch {
	// Before ParseDuration's own fault, which says only that a unit is missing; and "0" would pass
	// there.
	case bareNumber(s):
		return 0, fmt.Errorf("must be a duration with a unit, not %s: write %ss for seconds",
			Show(s), Clip(s))
	case err != nil:
		return 0, fmt.Errorf("must be a duration such as 10s, 1m30s or 24h, not %s%s",
			Show(s), durationHint(s))
	case t < low || t > high:
		return 0, fmt.Errorf("must be %s to %s, not %s", Brief(low), Brief(high), Clip(s))
	}
	return t, nil
}

// bareNumber reports whether s is a number without a unit.
func bareNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && Decimal(s[len(s)-1:])
}

// durationHint suggests how to write a duration with a space in it, or in days.
// "1 m 30 s" gives 1m30s, and 7d gives 168h.
func durationHint(s string) string {
	if together := strings.Join(strings.Fields(s), ""); together != s {
		if t, err := time.ParseDuration(together); err == nil {
			return ": write " + Brief(t)
		}
	}
	days, err := strconv.ParseInt(strings.TrimSuffix(s, "d"), 10, 16)
	if err != nil || !strings.HasSuffix(s, "d") {
		return ""
	}
	return fmt.Sprintf(": write %dh", days*24)
}

// Brief returns t in Go's words without the noughts at their end: 10m, not 10m0s.
func Brief(t time.Duration) string {
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
