package resp

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestInline: the words of a line are those between blanks of ASCII, except behind one that is no
// name, and except more of them than any command has.
func TestInline(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", " \t\v\f ", "PING", "  ping  ", "HEADGATE.CHECK\tlogin k 2", "a\rb",
		"k k\u00a0k \u2003",
		strings.Repeat("n", maxName) + " k", "\x00 k", "pin\xe7 k", "\x7f k",
		strings.Repeat("n", maxName+1) + " k",
		strings.Repeat("w ", maxArgs), strings.Repeat("w ", maxArgs+1),
		strings.Repeat("w ", mostWords), strings.Repeat("w ", 99),
	} {
		want := bytes.FieldsFunc([]byte(line),
			func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })
		if strings.HasSuffix(line, " k") &&
			!strings.HasPrefix(line, strings.Repeat("n", maxName)+" ") {
			want = want[:1] // it is no name
		}
		var p parser
		p.inline([]byte(line))
		if p.n != min(len(want), mostWords) {
			t.Errorf("%.20q: %d words, want %d", line, p.n, min(len(want), mostWords))
		}
		for i := range min(len(want), maxArgs) {
			if !bytes.Equal(p.args[i], want[i]) {
				t.Errorf("%.20q: word %d is %q, want %q", line, i, p.args[i], want[i])
			}
		}
	}
}

// BenchmarkInlineNoise reads a line of random bytes, as a flood of noise brings them.
func BenchmarkInlineNoise(b *testing.B) {
	from := rand.New(rand.NewPCG(1, 2))
	line := make([]byte, 256)
	for i := range line {
		line[i] = byte(from.Uint32())
	}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		var p parser
		p.inline(line)
	}
}
