//go:build !race

// The race detector makes sync.Pool forget at random, which is an allocation each time.

package edge

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// constJudge answers everything alike and keeps nothing.
type constJudge struct{ d Decision }

func (constJudge) Now() window.Instant                                          { return 1 }
func (constJudge) Rule([]byte) *mitigation.Rule                                 { return nil }
func (j constJudge) decide(uint64, window.Instant, uint64, wire.Query) Decision { return j.d }

// realJudge returns a node with the built-in rules.
func realJudge(t testing.TB) judge {
	t.Helper()
	e, err := New(config.Default(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return edgeJudge{e, []*Lane{e.Lane(0)}}
}

// TestHTTPAllocations checks that a check without a body, allowed or refused, allocates nothing from the parsed request
// to the formatted response, with a real node behind the door.
func TestHTTPAllocations(t *testing.T) {
	rule := &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute}
	for name, tt := range map[string]struct {
		j      judge
		status int
	}{
		"allow": {constJudge{Decision{Rule: rule, Answer: wire.Answer{Status: wire.Allow, Remaining: 4, Reset: 60}}}, 200},
		"deny":  {constJudge{Decision{Rule: rule, Answer: wire.Answer{Status: wire.Deny, Why: wire.WhyShed, Retry: 1, Ratio: 0.5}}}, 403},
		"node":  {realJudge(t), 403},
	} {
		ctx, serve := inMemory(newHTTP(tt.j, testLimits()))
		if n := testing.AllocsPerRun(1000, serve); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if got := ctx.Response.StatusCode(); got != tt.status {
			t.Errorf("%s: status %d, want %d", name, got, tt.status)
		}
	}
}

// inMemory returns what serves one request with h, without a connection, and the context it does so in.
func inMemory(h *HTTP) (*fasthttp.RequestCtx, func()) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	target := []byte("/v1/check?rule=login&key=2001%3adb8::1&status=403")
	var out bytes.Buffer
	return &ctx, func() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		ctx.Request.Header.SetProtocolBytes(http1)
		ctx.Request.SetRequestURIBytes(target)
		h.handle(&ctx)
		out.Reset()
		out.Write(ctx.Response.Header.Header())
		out.Write(ctx.Response.Body())
	}
}

// BenchmarkHTTPCheck measures the door's own share of a check: from the parsed request to the formatted response.
func BenchmarkHTTPCheck(b *testing.B) {
	rule := &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute}
	h := newHTTP(constJudge{Decision{Rule: rule, Answer: wire.Answer{Remaining: 4, Reset: 60}}}, testLimits())
	_, serve := inMemory(h)
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
}

// BenchmarkHTTPChecks measures reading a body of a thousand checks.
func BenchmarkHTTPChecks(b *testing.B) {
	body := []byte(`{"checks":[` + string(bytes.Repeat([]byte(`{"rule":"per-ip","key":"203.0.113.7","cost":2},`), maxHTTPChecks-1)) +
		`{"rule":"per-ip","key":"x"}]}`)
	var checks []wire.Query
	var p *problem
	b.ReportAllocs()
	for b.Loop() {
		if checks, _, p = parseChecks(body, checks[:0]); p != nil {
			b.Fatal(p.detail)
		}
	}
}

// TestHTTPMemory holds what a connection keeps, while its client sends the worst headers there are and then half a body, to
// the bound in http.go.
func TestHTTPMemory(t *testing.T) {
	const connections, bound = 64, 160 << 10
	h := newHTTP(newFakeJudge(), testLimits())
	var parsed atomic.Int64
	h.server.HeaderReceived = func(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
		defer parsed.Add(1)
		return slim(header)
	}
	ln, err := ListenHTTP(t.Context(), config.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	d := serveDoor(t, h, ln)
	worst := "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 8000\r\n" +
		strings.Repeat("a:b\r\n", (maxHTTPHeaders-100)/len("a:b\r\n")) + "\r\n{"
	before := heapInUse()
	for range connections {
		if _, err := io.WriteString(d.dial(t), worst); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return parsed.Load() == connections })
	if each := (heapInUse() - before) / connections; each > bound {
		t.Errorf("%d bytes a connection, want at most %d", each, bound)
	}
}

// heapInUse returns the bytes in use, with what sync.Pool kept let go.
func heapInUse() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
