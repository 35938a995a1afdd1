package wire

import (
	"context"
	"testing"
)

// The codec alone: what a daemon spends on the text of one line.
func BenchmarkLine(b *testing.B) {
	plain := []byte("check per-ip 203.0.113.7")
	full := []byte("check per-ip 2001:db8::7 cost=25 id=0aZ_-9")
	reply := make([]byte, 0, 128)
	allow := Answer{Remaining: 87, Reset: 10}
	deny := Answer{Status: Deny, Why: WhyShed, Retry: 30, View: ViewPoP, Ratio: 0.83, ID: full[36:]}
	answer := AppendAnswer(nil, deny)
	for _, bm := range []struct {
		name string
		f    func()
	}{
		{"parse", func() { _, _ = ParseQuery(plain) }},
		{"parse/options", func() { _, _ = ParseQuery(full) }},
		{"append", func() { reply = AppendAnswer(reply[:0], allow) }},
		{"append/deny", func() { reply = AppendAnswer(reply[:0], deny) }},
		{"append/short", func() { reply, _ = AppendAnswerMax(reply[:0], allow, len(plain)) }},
		{"client/query", func() { reply = AppendQuery(reply[:0], Query{Rule: plain[6:12], Key: plain[13:], ID: full[36:]}) }},
		{"client/answer", func() { _, _ = ParseAnswer(answer) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bm.f()
			}
		})
	}
	b.Run("parse+append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q, _ := ParseQuery(plain)
			allow.ID = q.ID
			reply = AppendAnswer(reply[:0], allow)
		}
	})
}

// A client and a plain daemon in one process, over the loopback: the daemon's
// share is in it.
func BenchmarkClient(b *testing.B) {
	conn, err := listen("udp", "")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go (&daemon{conn: conn}).run(honest)
	c, err := Dial("udp", conn.LocalAddr().String(), slow)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, bm := range []struct {
		name string
		n    int
	}{{"check", 1}, {"ask40", 40}, {"ask320", 320}} {
		b.Run(bm.name, func(b *testing.B) { benchmarkAsk(b, c, bm.n) })
	}
	b.Run("check/parallel", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, _ = c.Check(context.Background(), "r", "203.0.113.7", 1)
			}
		})
	})
}

func benchmarkAsk(b *testing.B, c *Client, n int) {
	b.ReportAllocs()
	queries := questions(n)
	for b.Loop() {
		if _, err := c.Ask(context.Background(), queries); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/question")
}
