package config

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"name", "limit", "window", "scope", "block_for", "mode", "failure_mode", "udp", "off"}
	for word, want := range map[string]string{
		"window": "window", "windw": "window", "winodw": "window", "Window": "window", "widnwo": "window", "WINDOW": "window",
		"upd": "udp", "udq": "udp", "u": "", "ud": "udp", "ofd": "off", "ffo": "",
		"block-for": "block_for", "blockFor": "block_for", "block": "block_for", "bl": "",
		"fail": "failure_mode", "limit_per_ip": "limit", "mod": "mode", "": "", "xyz": "", "burst": "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "ab", 2},
		{"ab", "", 2},
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"abc", "bca", 2},
		{"kitten", "sitting", 3},
		{"a", "abcd", 3},
	} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
