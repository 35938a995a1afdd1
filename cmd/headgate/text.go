package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// safe returns s fit for a terminal: what is not a printable character comes out as \xNN, byte by
// byte. Keys and reasons are chosen by strangers; none may move the cursor or hide itself.
func safe(s string) string {
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

// safeLines is safe, with the line ends kept.
func safeLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = safe(strings.ReplaceAll(line, "\t", "  "))
	}
	return strings.Join(lines, "\n")
}

// quote returns s in double quotes, safe to show.
func quote(s string) string { return `"` + safe(s) + `"` }

// writeJSON prints v as indented JSON, for scripts.
func writeJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// span renders a duration to two units at most: 250ms, 42s, 9m30s, 3h5m, 2d4h.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + span(-d)
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

// pair renders d in two units, the smaller one left out when there is none of it.
func pair(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	d = d.Round(small)
	text := fmt.Sprintf("%d%s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		text += fmt.Sprintf("%d%s", rest, smallName)
	}
	return text
}

// seconds turns the admin listener's seconds into a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
