package edge

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/headgate-dev/headgate/mitigation"
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
	for shown, want := range map[string]string{"": "", "a": "a", `\x5c`: `\`, `\xFF\x0a`: "\xff\n", `a\x00b`: "a\x00b", `\x41`: "A"} {
		if got, ok := UnescapeKey(shown); !ok || string(got) != want {
			t.Errorf("%s: %q, %v", shown, got, ok)
		}
	}
	for _, shown := range []string{`\`, `\x`, `\x4`, `\x4g`, `\xg4`, `\n`, `\\`, `\X41`, "\n", "é", "a\x7f"} {
		if got, ok := UnescapeKey(shown); ok {
			t.Errorf("%q: %q", shown, got)
		}
	}
}

// FuzzEscapeKey checks that every key is shown in printable ASCII, and comes back.
func FuzzEscapeKey(f *testing.F) {
	f.Add([]byte("203.0.113.7"))
	f.Add([]byte(hostileKey))
	f.Add([]byte(`\x41\`))
	f.Fuzz(func(t *testing.T, key []byte) {
		shown := EscapeKey(key)
		if strings.ContainsFunc(shown, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
			t.Fatalf("%q is shown as %q", key, shown)
		}
		if back, ok := UnescapeKey(shown); !ok || !bytes.Equal(back, key) {
			t.Fatalf("%q is shown as %s and comes back as %q, %v", key, shown, back, ok)
		}
	})
}

// FuzzUnescapeKey checks that no two shown forms without needless escapes mean one key, and none is read
// beyond its end.
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

func TestShellWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"203.0.113.7":    "203.0.113.7",
		"2001:db8::/64":  "2001:db8::/64",
		"user@host,a+b":  "user@host,a+b",
		"":               "$''",
		"a b":            "$'a b'",
		"$(reboot)":      "$'$(reboot)'",
		"`reboot`":       "$'`reboot`'",
		"a'; reboot; '":  `$'a\x27; reboot; \x27'`,
		`\'; reboot #`:   `$'\x5c\x27; reboot #'`,
		"~root":          "$'~root'",
		"a\nreboot\n":    `$'a\x0areboot\x0a'`,
		"é":              `$'\xc3\xa9'`,
		"*":              "$'*'",
		"a=b":            "$'a=b'",
		"\x1b[2J\x00end": `$'\x1b[2J\x00end'`,
	} {
		if got := shellWord([]byte(word)); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// FuzzAdminBody checks that no body breaks the door, and that what it sets is what the body says.
func FuzzAdminBody(f *testing.F) {
	f.Add(`{"rule":"shed","key":"a","action":"block","ttl":"10m","reason":"why","by":"kim"}`)
	f.Add(`{"rule":"block","shown":"\\xff","action":"allow"}`)
	f.Add(`{"rule":"shed","key":"\ud83d\ude00","action":"block"}`)
	f.Add(`{"rule":"shed","key":"\ud83d","action":"block"}`)
	f.Add(`[]`)
	f.Add(`{"rule":{}}`)
	a := newTestAdmin(f, AdminOptions{Local: true})
	f.Fuzz(func(t *testing.T, body string) {
		w := a.ask("POST", "/v1/mitigations", body)
		flags := a.edge.flags.Live(a.edge.Now())
		for _, set := range flags {
			a.edge.liftByHand(a.edge.Now(), set.Rule, set.Key, "test")
		}
		switch {
		case w.Code != http.StatusCreated && len(flags) > 0:
			t.Fatalf("status %d and %d flags", w.Code, len(flags))
		case w.Code >= 500:
			t.Fatalf("status %d: %s", w.Code, w.Body)
		case w.Code == http.StatusCreated && (len(flags) != 1 || len(flags[0].Key) > mitigation.MaxKey):
			t.Fatalf("%+v", flags)
		}
	})
}

// FuzzAdminQuery checks that no query string breaks the door or changes anything by reading.
func FuzzAdminQuery(f *testing.F) {
	for _, query := range []string{
		"rule=shed&key=a", "n=3&cursor=c2hlZABh", "rule=block&shown=%5Cxff", "a;b", "%", "=&=", "key=%00&rule=off",
	} {
		f.Add(query)
	}
	a := newTestAdmin(f, AdminOptions{Local: true})
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/v1/mitigations", "/v1/top", "/v1/explain"} {
			r := adminRequest("GET", path, "")
			r.URL.RawQuery = query
			for _, method := range []string{"GET", "DELETE"} {
				r.Method = method
				if w := a.serve(r); w.Code >= 500 {
					t.Fatalf("%s %s?%s: status %d: %s", method, path, query, w.Code, w.Body)
				}
			}
		}
	})
}
