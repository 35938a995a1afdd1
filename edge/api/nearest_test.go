package api_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
)

func TestOf(t *testing.T) {
	known := []string{
		"name", "limit", "window", "scope", "block_for", "mode",
		"failure_mode", "udp", "off",
	}
	for word, want := range map[string]string{
		"window": "window", "windw": "window", "winodw": "window", "Window": "window",
		"widnwo": "window", "WINDOW": "window",
		"upd": "udp", "udq": "udp", "u": "", "ud": "udp", "ofd": "off", "ffo": "",
		"block-for": "block_for", "blockFor": "block_for", "block": "block_for", "bl": "",
		"fail": "failure_mode", "limit_per_ip": "limit", "mod": "mode", "": "",
		"xyz": "", "burst": "",
	} {
		if got := api.Nearest(word, slices.Values(known)); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// TestOfCountsEdits: two edits are suggested for a long name, three are not, and a swap of
// neighbours is one.
func TestOfCountsEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ word, name, want string }{
		{"kitten", "kitten", "kitten"},
		{"kittne", "kitten", "kitten"},
		{"kttne", "kitten", "kitten"},
		{"mitton", "kitten", "kitten"},
		{"sitting", "kitten", ""},
		{"abc", "acb", "acb"},
		{"abc", "bca", ""},
		{"", "ab", ""},
		{"x", "abcd", ""},
	} {
		if got := api.Nearest(c.word, slices.Values([]string{c.name})); got != c.want {
			t.Errorf("%q beside %q: %q, want %q", c.word, c.name, got, c.want)
		}
	}
}

// TestOfIsBounded: a word of a megabyte is compared with nothing, no more than MaxCompared names
// are read.
func TestOfIsBounded(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	if got := api.Nearest(long, slices.Values([]string{"a", "aaaa"})); got != "" {
		t.Errorf("a megabyte stands for %q", got)
	}
	if got := api.Nearest("login", slices.Values([]string{long, "logon"})); got != "logon" {
		t.Errorf("beside a long name: %q", got)
	}
	read := 0
	names := func(yield func(string) bool) {
		for yield("rule-" + strconv.Itoa(read)) {
			read++
		}
	}
	if got := api.Nearest("login", names); got != "" || read > api.MaxCompared {
		t.Errorf("%q after %d names", got, read)
	}
}
