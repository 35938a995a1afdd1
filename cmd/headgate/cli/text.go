package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Safe returns s fit for a terminal: other than printable characters come out as \xNN, byte by
// byte. Keys and reasons are chosen by strangers; none may move the cursor or hide itself.
func Safe(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(s[:size])
		} else {
			for _, octet := range []byte(s[:size]) {
				fmt.Fprintf(&b, `\x%02x`, octet)
			}
		}
		s = s[size:]
	}
	return b.String()
}

// SafeLines is safe, with the line ends kept.
func SafeLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Safe(strings.ReplaceAll(line, "\t", "  "))
	}
	return strings.Join(lines, "\n")
}

// Quote returns s in double quotes, safe to show.
func Quote(s string) string { return `"` + Safe(s) + `"` }

// WriteJSON prints v as indented JSON, for scripts.
func WriteJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// Span renders a duration to two units at most: 250ms, 42s, 9m30s, 3h5m, 2d4h.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return pair(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return pair(d, time.Hour, "h", time.Minute, "m")
	}
	return pair(d, day, "d", time.Hour, "h")
}

// pair renders d in two units, the smaller left out when 0.
func pair(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	d = d.Round(small)
	text := fmt.Sprintf("%d%s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, smallName)
	}
	return text
}

// Seconds turns the admin listener's seconds into a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Ratio renders a flag's drop ratio; an allowed key is never refused, so has none.
func Ratio(action string, r float64) string {
	if action == "allow" {
		return "-"
	}
	return strconv.FormatFloat(r, 'f', 2, 64)
}

// Decimal renders a number seldom whole to a decimal at most.
func Decimal(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// Grouped writes n with a comma between thousands.
func Grouped[T ~int | ~int64 | ~float64](n T) string {
	digits, behind, point := strings.Cut(strconv.FormatFloat(float64(n), 'f', -1, 64), ".")
	var b strings.Builder
	for i, c := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if point {
		b.WriteString("." + behind)
	}
	return b.String()
}

// ShareText writes a share in percent, to three digits.
func ShareText(share float64) string {
	switch percent := 100 * share; {
	case percent == 0:
		return "0 %"
	case percent < 0.001:
		return "< 0.001 %"
	case percent < 1:
		return strconv.FormatFloat(percent, 'f', 3, 64) + " %"
	case percent < 10:
		return strconv.FormatFloat(percent, 'f', 2, 64) + " %"
	default:
		return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
	}
}
