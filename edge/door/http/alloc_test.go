//go:build !race

// The race detector makes sync.Pool forget at random, which is an allocation each time.

package http

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// constDecider answers everything alike and keeps nothing.
type constDecider struct{ d gate.Decision }

func (constDecider) Now() window.Instant          { return 1 }
func (constDecider) Known([]byte) bool            { return true }
func (constDecider) Rule([]byte) *mitigation.Rule { return nil }
func (constDecider) RuleNames() iter.Seq[string]  { return maps.Keys(map[string]int{}) }
func (j constDecider) Decide(uint64, window.Instant, uint64, gate.Ask) (gate.Decision, error) {
	return j.d, nil
}

func (j constDecider) DecideAll(
	_ uint64, _ window.Instant, _ func() uint64, checks []gate.Ask, answer func(d *gate.Decision),
) error {
	for range checks {
		answer(&j.d)
	}
	return nil
}

// realDecider returns a gate with the built-in rules.
func realDecider(t testing.TB) decider {
	t.Helper()
	c := config.Default()
	g := gatetest.New(t, c.Memory, c.Rules...)
	return gateDecider{g, []*gate.Lane{g.Lane(0)}}
}

// TestHTTPAllocations checks that a check without a body, allowed or refused, allocates nothing
// from the head to the written response, with a real node behind the door.
func TestHTTPAllocations(t *testing.T) {
	rule := &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute}
	for name, tt := range map[string]struct {
		j      decider
		status int
	}{
		"allow": {constDecider{gate.Decision{Rule: rule, Remaining: 4, Reset: time.Minute}}, 200},
		"deny": {constDecider{gate.Decision{
			Rule: rule, Deny: true, Why: mitigation.ByShed,
			Retry: time.Second, Ratio: mitigation.RatioFor(2, 1),
		}}, 403},
		"node": {realDecider(t), 403},
	} {
		out, serve := inMemory(t, newDoor(tt.j, testLimits()),
			"GET /v1/check?rule=login&key=2001%3adb8::1&status=403 HTTP/1.1\r\nHost: h\r\n\r\n")
		if n := testing.AllocsPerRun(1000, serve); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if want := fmt.Sprintf("HTTP/1.1 %d ", tt.status); !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: %s, want %s", name, out, want)
		}
	}
}

// kept is a connection to a client that keeps the last answer.
type kept struct {
	discard
	last bytes.Buffer
}

func (c *kept) Write(b []byte) (int, error) {
	c.last.Reset()
	return c.last.Write(b)
}

// inMemory returns a function that has h answer the request raw, and the last answer.
func inMemory(t testing.TB, h *Door, raw string) (*bytes.Buffer, func()) {
	t.Helper()
	nc := &kept{}
	c := connOn(t, h, nc)
	return &nc.last, func() {
		if !c.Take(copy(c.Room(), raw), nil) {
			t.Fatal("not answered")
		}
	}
}

// BenchmarkHTTPCheck measures the door's own share of a check: from the head to the written
// response.
func BenchmarkHTTPCheck(b *testing.B) {
	rule := &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute}
	h := newDoor(constDecider{gate.Decision{Rule: rule, Remaining: 4, Reset: time.Minute}},
		testLimits())
	_, serve := inMemory(b, h, okRequest)
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
}

// BenchmarkHTTPChecks measures reading a body of a thousand checks.
func BenchmarkHTTPChecks(b *testing.B) {
	body := []byte(`{"checks":[` +
		string(bytes.Repeat([]byte(`{"rule":"per-ip","key":"203.0.113.7","cost":2},`),
			mostChecks-1)) +
		`{"rule":"per-ip","key":"x"}]}`)
	var checks []gate.Ask
	var p *api.Problem
	b.ReportAllocs()
	for b.Loop() {
		if checks, _, p = input.Checks(body, checks[:0]); p != nil {
			b.Fatal(p.Detail)
		}
	}
}

// TestHTTPMemory bounds the memory of a connection whose client stops anywhere: see limits.go.
func TestHTTPMemory(t *testing.T) {
	const connections, bound = 512, 16 << 10
	short := strings.Repeat("a:b\r\n", (60<<10)/len("a:b\r\n"))
	for name, raw := range map[string]string{
		"short headers": "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n" + short,
		"long headers": "GET /v1/check?rule=login&key=a HTTP/1.1\r\nHost: h\r\n" +
			cookies(60<<10) + "Cookie: c",
		"half a body": "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: 7000\r\n" +
			short + "\r\n{",
		"nothing": okRequest,
	} {
		t.Run(name, func(t *testing.T) {
			d := openDoor(t, newFakeDecider(), testLimits())
			conns := make([]net.Conn, connections)
			before := heapInUse()
			for i := range conns {
				conns[i] = d.dial(t)
				if _, err := io.WriteString(conns[i], raw); err != nil {
					t.Fatal(err)
				}
			}
			slow := int64(connections * head.Size)
			if raw == okRequest {
				slow = 0
				for _, c := range conns {
					doortest.ReadReply(t, bufio.NewReader(c))
				}
			}
			doortest.WaitFor(t, func() bool { return d.Stats().UnderWay == slow })
			if each := (heapInUse() - before) / connections; each > bound {
				t.Errorf("%d bytes a connection, want at most %d", each, bound)
			}
		})
	}
}

// heapInUse returns the bytes in use after sync.Pools were emptied.
func heapInUse() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestAuthAllocatesNothing: a whole request costs no allocation either, from its head to the
// answer.
func TestAuthAllocatesNothing(t *testing.T) {
	h, _ := askDoor(t)
	raw := rawRequest("GET /v1/auth/nginx HTTP/1.1", "Host: api.example.com", "X-Original-URI: /a",
		"X-Original-Method: GET", "X-API-Key: k")
	_, run := inMemory(t, h, raw)
	run()
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
