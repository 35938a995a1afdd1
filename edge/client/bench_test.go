package client

import (
	"context"
	"testing"
)

// A client and a plain daemon in one process, over the loopback; the daemon's time is included.
func BenchmarkClient(b *testing.B) {
	conn, err := listen("udp", "")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go (&daemon{conn: conn}).run(honest)
	c, err := Dial(conn.LocalAddr().String(), slow)
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
	queries := numbered(n)
	for b.Loop() {
		if _, err := c.Batch(context.Background(), queries); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/query")
}
