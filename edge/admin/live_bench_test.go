package admin

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/mitigation"
)

// liveLoad is a node with 10,000 flags and as many heavy keys, whose streams n readers read over
// real connections.
func liveLoad(b *testing.B, n int) (a *Door, wait func()) {
	b.Helper()
	a = New(gatetest.NewFlagged(b, 10_000),
		Options{Local: true, Log: slog.New(slog.DiscardHandler)})
	ln, err := door.Listen(b.Context(), config.Address{Host: "127.0.0.1"})
	if err != nil {
		b.Fatal(err)
	}
	server := a.server()
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ln) })
	b.Cleanup(func() { _ = server.Close(); serving.Wait() })
	seen := make(chan struct{}, n)
	for range n {
		c, err := new(net.Dialer).DialContext(b.Context(), "tcp", ln.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, "GET /v1/events?live=1 HTTP/1.1\r\nHost: "+
			"localhost\r\n\r\n"); err != nil {
			b.Fatal(err)
		}
		serving.Go(func() { countPictures(c, seen) })
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for a.live.hub.Stats().Readers < n {
		<-tick.C
	}
	return a, func() {
		for range n {
			<-seen
		}
	}
}

// countPictures sends to seen for each picture that arrives on c.
func countPictures(c io.Reader, seen chan<- struct{}) {
	mark, buf, kept := []byte("\"viewers\":"), make([]byte, 64<<10), 0
	for {
		n, err := c.Read(buf[kept:])
		if err != nil {
			return
		}
		for range bytes.Count(buf[:kept+n], mark) {
			seen <- struct{}{}
		}
		kept = min(kept+n, len(mark)-1)
		copy(buf, buf[n:n+kept])
	}
}

// BenchmarkLive is what a second of feed costs, by viewers: the look, the encoding and the sending,
// until all have it. On a node with 10,000 flags.
func BenchmarkLive(b *testing.B) {
	for _, n := range []int{0, 1, 20, live.MaxReaders} {
		b.Run(fmt.Sprintf("viewers=%d", n), func(b *testing.B) {
			a, wait := liveLoad(b, n)
			a.live.publish(a.gate.Now()) // how they were set is not the subject
			turn := 1
			for b.Loop() {
				a.live.scanned = nil // no pacing
				a.live.turn(turn, a.gate.Now())
				wait()
				turn = 1 // no beats
			}
			per := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(100*per.Seconds()/liveEvery.Seconds(), "%-of-time")
		})
	}
}

// BenchmarkLiveRules is a picture, and a history, of as many rules as there may be.
func BenchmarkLiveRules(b *testing.B) {
	rules := make([]mitigation.Rule, mitigation.MaxRules)
	for n := range rules {
		rules[n] = mitigation.Rule{
			Name: fmt.Sprintf("rule-%d", n), Limit: 100,
			Window: 10 * time.Second,
		}
	}
	a := New(gatetest.New(b, 64<<20, rules...), Options{Local: true})
	now := a.gate.Now()
	for n := range live.Steps + 1 {
		for _, r := range rules {
			gatetest.Decide(a.gate, now, gate.Check, r.Name, "k", uint32(1+n%7))
		}
		a.live.sample(now.Add(time.Duration(n) * live.Every))
	}
	b.Run("picture", func(b *testing.B) {
		reader := viewersOf(b, a, 1)[0]
		for b.Loop() {
			a.live.scanned = nil // no pacing
			a.live.show(a.gate.Now())
			b.ReportMetric(float64(len(<-reader.Frames())), "bytes")
		}
	})
	b.Run("history", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(a.ask("GET", "/v1/history", "").Body.Len()), "bytes")
		}
	})
}

// viewersOf adds n viewers that are handed pictures.
func viewersOf(t testing.TB, a *Door, n int) (all []*live.Reader) {
	t.Helper()
	for range n {
		r, err := a.live.hub.Join(true, func() {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Leave)
		all = append(all, r)
	}
	return all
}
