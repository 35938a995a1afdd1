package document

import (
	"fmt"
	"strings"
	"unicode"
)

// maxShown bounds how much of a faulty value a message repeats, in bytes.
const maxShown = 64

// Show quotes text for a message, cut where it is long, so no value can flood a log.
func Show(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%q…", text[:maxShown])
	}
	return fmt.Sprintf("%q", text)
}

// Clip returns s, cut where it is long.
func Clip(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "…"
	}
	return s
}

// Decimal reports whether text is digits and nothing else.
func Decimal(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// Printable reports whether text can be shown as it is: no control, no line break, valid UTF-8.
func Printable(text string) bool {
	return strings.IndexFunc(text,
		func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) < 0
}

// IsName reports whether text is [A-Za-z0-9_.-]{1,limit}.
func IsName(text string, limit int) bool {
	for i := range len(text) {
		c := text[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if !letter && !digit && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return text != "" && len(text) <= limit
}
