//go:build !race

// The race detector makes sync.Pool forget at random, which is an allocation each time.

package spop_test

import (
	"io"
	"testing"
)

// TestAllocations: a warm connection decides and answers without allocating.
func TestAllocations(t *testing.T) {
	a := open(t, policies)
	a.greet()
	ask := frameOf(notify, fin, 1, 1,
		message("ask", "path", "/v2/a", "src", visitor, "host", "h", "hdrs",
			[]byte(str("x-plan")+str("gold")+"\x00\x00")))
	a.send(ask)
	answer := make([]byte, 4096)
	n, err := a.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	request := []byte(ask)
	if got := testing.AllocsPerRun(200, func() {
		if _, err := a.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAtLeast(a, answer, n-20); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// BenchmarkAsk is a request by policies over a connection: both ends, with 16 under way.
func BenchmarkAsk(b *testing.B) {
	a := open(b, policies)
	a.greet()
	const together = 16
	var many string
	for range together {
		many += frameOf(notify, fin, 1, 1,
			message("ask", "path", "/v2/a", "src", visitor, "host", "h", "header.x-plan", "gold"))
	}
	a.send(many)
	answer := make([]byte, 1<<16)
	read := func() {
		for range together {
			if _, err := io.ReadFull(a, answer[:4]); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(a, answer[:int(answer[2])<<8|int(answer[3])]); err != nil {
				b.Fatal(err)
			}
		}
	}
	read()
	request := []byte(many)
	for range b.N/together + 1 {
		if _, err := a.Write(request); err != nil {
			b.Fatal(err)
		}
		read()
	}
}
