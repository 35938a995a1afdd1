package config_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// TestSyntaxErrorLine checks the line of a syntax error, which the library reports wrongly or not
// at all. In a large file the search for it is cut short, and the line after will do.
func TestSyntaxErrorLine(t *testing.T) {
	const large = 5000 // lines, more than are parsed twice
	for _, c := range []struct {
		name, bad string
		line      int // of the fault, counted within bad
	}{
		{"bracket never closed", "ring: {flush: 1s}\nlisten:\n  udp: [\"a:1\",\n    " +
			"\"b:1\"\npop: lhr\n", 3},
		{"brace never closed", "ring: {flush: 1s,\n", 1},
		{"quote never closed", "node: a\npop: \"lhr\n", 2},
		{"single quote never closed", "node: a\n\n\npop: 'lhr\nmore\n", 4},
		{"value after value", "node: a\nring: flush: 1s\n", 2},
		{"field without colon", "node: a\npop lhr\nmemory: 1MiB\n", 2},
		{"too deep", "node: a\n  pop: b\n", 2},
		{"not deep enough", "rules:\n  - name: a\n    limit: 1\n   window: 1s\n  - name: b\n", 4},
		{"list among fields", "node: a\n- b\npop: c\n", 2},
		{"closed but never opened", "node: a\n}\npop: c\n", 2},
		{"tab", "ring:\n\tflush: 1s\n", 2},
		{"reserved character", "node: a\npop: @b\n", 2},
		{"escape", "node: a\npop: \"\\q\"\n", 2},
		{"unknown alias", "node: a\npop: b\nmemory: *c\n", 3},
		{"Windows line ends", "node: a\r\nring: {flush: 1s\r\n", 2},
	} {
		for _, above := range []int{0, 1, 20, large} {
			text := strings.Repeat("# nothing to see here, and nothing there, nor anywhere else "+
				"at all, and so on\n", above) + c.bad
			_, err := config.Parse("f", []byte(text))
			faults := faultsOf(t, err)
			slack := 0
			if above == large {
				slack = 1
			}
			if off := faults[0].Line - above - c.line; len(faults) != 1 || off < 0 || off > slack {
				t.Errorf("%s, %d lines above: got %v, want line %d", c.name,
					above, err, above+c.line)
			}
		}
	}
}

// TestCharacters holds which characters a file may not have anywhere, not even in a comment.
func TestCharacters(t *testing.T) {
	for _, bad := range []string{
		"\x00", "\x1b", "\x7f", "\u0085", "\u009f", "\u2028", "\u2029",
		"\ufeff", "\r", "\x80", "\xc3", "\xed\xa0\x80",
	} {
		_, err := config.Parse("f", []byte("pop: lhr\n# é"+bad+"x\n"))
		if faults := faultsOf(t, err); len(faults) != 1 || faults[0].Line != 2 ||
			faults[0].Col != 4 {
			t.Errorf("%q: got %v, want a fault at 2:4", bad, err)
		}
	}
	for _, good := range []string{"\t", "\u00a0", "é", "\U0001F30A", "\r\n", "\ufffd"} {
		if _, err := config.Parse("f", []byte("pop: lhr\n# é"+good+"\n")); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
