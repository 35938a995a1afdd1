package api

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

func TestEscapeKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"":                 "",
		"203.0.113.7":      "203.0.113.7",
		"2001:db8::/64":    "2001:db8::/64",
		"a b~!\"'<>&%":     "a b~!\"'<>&%",
		`\`:                `\x5c`,
		`\x41`:             `\x5cx41`,
		"\x00\x1f\x7f\x80": `\x00\x1f\x7f\x80`,
		"é":                `\xc3\xa9`,
		"\u202e":           `\xe2\x80\xae`,
		"a\r\nb\t":         `a\x0d\x0ab\x09`,
	} {
		if got := EscapeKey([]byte(key)); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}

func TestUnescapeKey(t *testing.T) {
	t.Parallel()
	for shown, want := range map[string]string{
		"": "", "a": "a", `\x5c`: `\`, `\xFF\x0a`: "\xff\n",
		`a\x00b`: "a\x00b", `\x41`: "A",
	} {
		if got, ok := UnescapeKey(shown); !ok || string(got) != want {
			t.Errorf("%s: %q, %v", shown, got, ok)
		}
	}
	for _, shown := range []string{
		`\`, `\x`, `\x4`, `\x4g`, `\xg4`, `\n`, `\\`, `\X41`, "\n", "é",
		"a\x7f",
	} {
		if got, ok := UnescapeKey(shown); ok {
			t.Errorf("%q: %q", shown, got)
		}
	}
}

// FuzzEscapeKey checks that every key is shown in printable ASCII, and comes back.
func FuzzEscapeKey(f *testing.F) {
	f.Add([]byte("203.0.113.7"))
	f.Add([]byte("<script>alert(1)</script>\r\n\x1b[2J\x00\xff"))
	f.Add([]byte(`\x41\`))
	f.Fuzz(func(t *testing.T, key []byte) {
		shown := EscapeKey(key)
		if strings.ContainsFunc(shown,
			func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
			t.Fatalf("%q is shown as %q", key, shown)
		}
		if back, ok := UnescapeKey(shown); !ok || !bytes.Equal(back, key) {
			t.Fatalf("%q is shown as %s and comes back as %q, %v", key, shown, back, ok)
		}
	})
}

// FuzzUnescapeKey checks that no two shown forms without needless escapes mean one key, and none is
// read beyond its end.
func FuzzUnescapeKey(f *testing.F) {
	f.Add(`a\x5cb`)
	f.Add(`\x5`)
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, shown string) {
		key, ok := UnescapeKey(shown)
		if !ok {
			return
		}
		if len(key) > len(shown) {
			t.Fatalf("%d bytes from %d", len(key), len(shown))
		}
		if again, ok := UnescapeKey(EscapeKey(key)); !ok || !bytes.Equal(again, key) {
			t.Fatalf("%q means %q, and then %q", shown, key, again)
		}
	})
}
