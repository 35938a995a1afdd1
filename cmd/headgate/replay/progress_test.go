package replay

import (
	"bytes"
	"testing"
)

// The line is repainted in place, counts the logs already behind, and goes when the replay ends.
func TestProgressOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := progress{w: &out, total: 2000}
	p.show(500, 16_384)
	p.done(1000)
	p.show(500, 1_234_567)
	p.clear()
	want := "\r\x1b[K 25 %  16,384 requests" + "\r\x1b[K 75 %  1,234,567 requests" + "\r\x1b[K"
	if out.String() != want {
		t.Errorf("shown %q, want %q", out.String(), want)
	}
}

// A file, a pipe or a test's buffer gets no progress: it would only be in the way there.
func TestNoProgressElsewhere(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, []string{"../accesslog/testdata/logs/blog.tsv"})
	p.show(1, 1)
	p.done(1)
	p.clear()
	if out.Len() > 0 {
		t.Errorf("shown %q", out.String())
	}
}
