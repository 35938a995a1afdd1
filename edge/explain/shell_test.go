package explain

import "testing"

func TestShellWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"203.0.113.7":    "203.0.113.7",
		"2001:db8::/64":  "2001:db8::/64",
		"user@host,a+b":  "user@host,a+b",
		"":               "''",
		"a b":            "'a b'",
		"$(reboot)":      "'$(reboot)'",
		"`reboot`":       "'`reboot`'",
		"a'; reboot; '":  `$'a\x27; reboot; \x27'`,
		`\'; reboot #`:   `$'\x5c\x27; reboot #'`,
		"~root":          "'~root'",
		"a\nreboot\n":    `$'a\x0areboot\x0a'`,
		"é":              `$'\xc3\xa9'`,
		"*":              "'*'",
		"a=b":            "'a=b'",
		"\x1b[2J\x00end": `$'\x1b[2J\x00end'`,
	} {
		if got := shellWord([]byte(word)); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
