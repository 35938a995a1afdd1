//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// answering serves datagrams until the test ends; answer returns nil to stay silent.
func answering(t *testing.T, answer func([]byte) []byte) string {
	t.Helper()
	return answeringFrom(t, func(_ net.Addr, line []byte) []byte { return answer(line) })
}

// answeringFrom is answering for an answer that looks at the sender.
func answeringFrom(t *testing.T, answer func(net.Addr, []byte) []byte) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		buf := make([]byte, maxReply)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := answer(from, buf[:n]); reply != nil {
				_, _ = c.WriteTo(reply, from)
			}
		}
	}()
	return c.LocalAddr().String()
}

// loaded runs the program and returns its exit code and report.
func loaded(t *testing.T, args ...string) (int, Report, string) {
	t.Helper()
	var out, errs bytes.Buffer
	var r Report
	code := run(append(args, "-json"), &out, &errs)
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("report %q: %v", out.String(), err)
		}
	}
	return code, r, errs.String()
}

// TestSocketsShareTheWindow: every socket asks, each on its own, and together they ask what was
// wanted.
func TestSocketsShareTheWindow(t *testing.T) {
	var ports sync.Map
	addr := answeringFrom(t, func(from net.Addr, _ []byte) []byte {
		ports.Store(from.String(), true)
		return []byte("allow remaining=1\n")
	})
	code, r, errs := loaded(t, "udp", "-addr", addr, "-requests", "500",
		"-warmup", "50", "-window", "16", "-sockets", "8")
	if code != 0 || r.Requests != 500 || r.Lost != 0 || r.Short != 0 || r.Verdicts.Allow != 500 {
		t.Errorf("exit %d, %s, %+v", code, errs, r)
	}
	sockets := 0
	ports.Range(func(any, any) bool { sockets++; return true })
	if sockets != 8 {
		t.Errorf("%d sockets asked, want 8", sockets)
	}
	if code, _, errs := loaded(t, "udp", "-window", "16", "-sockets", "5"); code != 2 ||
		!strings.Contains(errs, "--sockets") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestUDPCountsWhatItIsTold(t *testing.T) {
	addr := answering(t, func(b []byte) []byte {
		return []byte(strings.Repeat("allow remaining=1\ndeny why=limit\n",
			bytes.Count(b, []byte("\n"))/2+1))
	})
	code, r, errs := loaded(t, "udp", "-addr", addr, "-requests", "300", "-warmup", "20", "-window",
		"8", "-checks", "2")
	if code != 0 || r.Requests != 300 || r.Lost != 0 ||
		r.Verdicts != (Verdicts{Allow: 300, Deny: 300}) || r.Short != 0 {
		t.Errorf("exit %d, report %+v, stderr %q", code, r, errs)
	}
	if r.Latency.P50 <= 0 || r.Latency.Max < r.Latency.P99 || r.Decisions < r.Rate {
		t.Errorf("impossible figures: %+v", r)
	}
}

func TestUDPLossIsCountedAndTheRunEnds(t *testing.T) {
	lost := 0
	for range 10 { // on a busy machine replies may be late, and count as lost too
		var n atomic.Int64
		addr := answering(t, func(b []byte) []byte {
			if n.Add(1)%50 == 0 {
				return nil
			}
			return b
		})
		code, r, errs := loaded(t, "udp", "-addr", addr, "-requests", "200", "-window", "4",
			"-id", "-timeout", "40ms")
		if code != 1 || r.Lost < 1 || r.Requests+r.Lost != 200 {
			t.Fatalf("exit %d, report %+v, stderr %q", code, r, errs)
		}
		if lost = r.Lost; lost <= 12 {
			return
		}
	}
	t.Errorf("%d replies counted as lost, of 4 that were", lost)
}

func TestUDPSilenceIsAnError(t *testing.T) {
	addr := answering(t, func([]byte) []byte { return nil })
	began := time.Now()
	code, _, errs := loaded(t, "udp", "-addr", addr, "-requests", "1000", "-timeout", "10ms")
	if code != 1 || !strings.Contains(errs, "does not answer") ||
		time.Since(began) > 5*time.Second {
		t.Errorf("exit %d after %v, stderr %q", code, time.Since(began), errs)
	}
}

func TestUDPShortRepliesShow(t *testing.T) {
	addr := answering(t, func([]byte) []byte { return []byte("allow") })
	if _, r, _ := loaded(t, "udp", "-addr", addr, "-requests", "50", "-checks",
		"3"); r.Short != 50 {
		t.Errorf("%d short, want 50", r.Short)
	}
}

func TestHTTPAsksEveryConnection(t *testing.T) {
	var asked atomic.Int64
	addr := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.FormValue("rule") != "login" || net.ParseIP(r.FormValue("key")) == nil ||
			len(r.Header) < 30 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, "no")
	}))
	code, r, errs := loaded(t, "http", "-addr", addr, "-requests", "500", "-warmup", "50",
		"-window", "7", "-rule", "login", "-header-bytes", "30000")
	if code != 0 || r.Requests != 500 || r.Verdicts != (Verdicts{Deny: 500}) ||
		asked.Load() != 550 {
		t.Errorf("exit %d, %d asked, report %+v, stderr %q", code, asked.Load(), r, errs)
	}
}

func TestHTTPBrokenConnectionsAreLostAndTheRunEnds(t *testing.T) {
	var n atomic.Int64
	addr := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%20 == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	code, r, errs := loaded(t, "http", "-addr", addr, "-requests", "200", "-window", "4")
	if code != 1 || r.Lost < 9 || r.Lost > 11 || r.Verdicts.OK != r.Requests ||
		r.Requests+r.Lost != 200 {
		t.Errorf("exit %d, report %+v, stderr %q", code, r, errs)
	}
}

func TestHTTPStrangeAnswerIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = bufio.NewReader(c).ReadString('\n')
			fmt.Fprint(c, "220 mail\r\n\r\n")
		}
	}()
	if code, _, errs := loaded(t, "http", "-addr", l.Addr().String(), "-window", "1"); code != 1 ||
		!strings.Contains(errs, "not HTTP") {
		t.Errorf("exit %d, stderr %q", code, errs)
	}
}

// serving serves HTTP until the test ends.
func serving(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	t.Cleanup(func() { _ = s.Close() })
	go func() { _ = s.Serve(l) }()
	return l.Addr().String()
}

func TestBadUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"tcp"},
		{"udp", "-window", "0"},
		{"udp", "-dist", "zipf", "-zipf-s", "1"},
		{"http", "-checks", "4"},
		{"udp", "stray"},
	} {
		if code, _, errs := loaded(t, args...); code != 2 || errs == "" {
			t.Errorf("%q: exit %d, stderr %q", args, code, errs)
		}
	}
}

// BenchmarkCeiling sends to a socket that is its own peer: the speed of the generator alone, the
// kernel's delivery included. A server above this rate would not be measured.
func BenchmarkCeiling(b *testing.B) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	addr := c.LocalAddr().String()
	_ = c.Close()
	fd, err := dialSelf(addr)
	if err != nil {
		b.Fatal(err)
	}
	o := options{
		addr: addr, op: "check", rule: "per-ip", checks: 1, window: 256, keys: 4096,
		dist: "uniform", seed: 1, requests: 1 << 20, pool: 1 << 20, timeout: time.Second,
	}
	f := newFlow(o)
	f.fd = fd
	b.ResetTimer()
	if err := f.run(b.N); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}

func TestUnixDatagramsFindTheirWayBack(t *testing.T) {
	path := t.TempDir() + "/s"
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		buf := make([]byte, maxReply)
		for {
			n, from, err := c.ReadFromUnix(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteToUnix(buf[:n], from)
		}
	}()
	code, r, errs := loaded(t, "udp", "-addr", "unix:"+path, "-requests", "500",
		"-window", "8", "-id")
	if code != 0 || r.Verdicts != (Verdicts{Echoed: 500}) || r.Short != 0 {
		t.Errorf("exit %d, report %+v, stderr %q", code, r, errs)
	}
}

func TestTimeWithoutACoreIsNoSilence(t *testing.T) {
	f := &flow{opt: options{timeout: 100 * time.Millisecond}, start: time.Now().Add(-time.Second)}
	f.present()
	if waited := time.Duration(f.looked - f.heard); waited > 10*time.Millisecond {
		t.Errorf("a second without a core counts as %v of silence", waited)
	}
}
