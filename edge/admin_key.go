package edge

import (
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
)

// EscapeKey returns key as it is shown to people: every byte outside printable ASCII (0x20 to 0x7e), and
// the backslash, as \xNN in lower case. Nothing in it can move a cursor, end a line or hide, and
// UnescapeKey gives the key back.
func EscapeKey(key []byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(key))
	for _, c := range key {
		if c < ' ' || c > '~' || c == '\\' {
			b.WriteString(`\x`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// UnescapeKey returns the key that EscapeKey shows as shown, and whether there is one: a backslash
// without x and two hexadecimal digits after it shows no key, and neither does a byte that would have
// been escaped.
func UnescapeKey(shown string) ([]byte, bool) {
	const escape = len(`\xNN`)
	key := make([]byte, 0, len(shown))
	for i := 0; i < len(shown); {
		c := shown[i]
		switch {
		case c < ' ' || c > '~':
			return nil, false
		case c != '\\':
			key = append(key, c)
			i++
			continue
		case len(shown)-i < escape || shown[i+1] != 'x':
			return nil, false
		}
		high, low := unhex(shown[i+2]), unhex(shown[i+3])
		if high < 0 || low < 0 {
			return nil, false
		}
		key = append(key, byte(high<<4|low)) // two hexadecimal digits
		i += escape
	}
	return key, true
}

// adminKey returns the key that is given as it is or as it is shown.
func adminKey(raw, shown string) ([]byte, *problem) {
	key, name := []byte(raw), "key"
	if shown != "" {
		if raw != "" {
			return nil, badParam("shown", "is given beside key")
		}
		var ok bool
		if key, ok = UnescapeKey(shown); !ok {
			return nil, badParam("shown", `must be a key as it is shown, odd bytes as \xNN`)
		}
		name = "shown"
	}
	if len(key) < 1 || len(key) > mitigation.MaxKey {
		return nil, badParam(name, "must be 1 to 256 bytes long")
	}
	return key, nil
}

// shellWord returns word as a shell takes it: as it is if no shell thinks anything of it, else in $'…'
// with odd bytes escaped, so that a line we print can be pasted whatever a stranger chose as a key.
func shellWord(word []byte) string {
	plain := len(word) > 0
	var b strings.Builder
	for _, c := range word {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		plain = plain && (letter || strings.IndexByte("_.:/@-+,", c) >= 0)
		if c < ' ' || c > '~' || c == '\\' || c == '\'' {
			fmt.Fprintf(&b, `\x%02x`, c)
			continue
		}
		b.WriteByte(c)
	}
	if plain {
		return b.String()
	}
	return "$'" + b.String() + "'"
}
