package edge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// embeddedConfig has windows of hours, so that nothing in it moves while a test runs, and each
// another one, so that of several denials one is clearly the longest.
const embeddedConfig = `
node: test
memory: 4MiB
rules:
  - {name: few, limit: 3, window: 1h}
  - {name: dry, limit: 2, window: 1h, mode: shadow}
  - {name: blocks, limit: 2, window: 1h, action: block, block_for: 1h}
  - {name: bucket, limit: 1, window: 5h, burst: 4}
  - {name: off, limit: 1, window: 1h, mode: off}
policies:
  - {name: ours, match: {client: 192.0.2.0/24}, skip: all}
  - {name: scanners, match: {path: "/.env"}, deny: 404}
  - {name: login, match: {path: "/login"}, count_when: {path: "/login", method: POST, status: 401}, limit: 2, window: 1h}
  - {name: api, match: {host: api.example.com}, key: header.x-api-key, limit: 2, window: 20h, on_deny: {announce: false, status: 403}}
  - {name: tokens, match: {path: "/tokens"}, key: all, cost: {of: response.header.x-tokens, max: 50}, limit: 400, window: 4h}
  - {name: slow, match: {path: "/slow"}, kind: concurrency, limit: 2, lease: 1h}
  - {name: gold, match: {tier: gold}, rules: [bucket]}
  - {name: shy, match: {country: DE}, limit: 1, window: 3h, mode: shadow}
  - {name: all, match: {path: "/all/**"}, key: all, limit: 40, window: 2h}
`

// embed runs a node with text as its configuration and without a socket, until the test ends.
func embed(t testing.TB, text string, mode client.FailMode) *edge.Node {
	t.Helper()
	return started(t, text, config.Listen{}, mode)
}

// started runs a node with text as its configuration, and those listeners, until the test ends.
func started(t testing.TB, text string, at config.Listen, mode client.FailMode) *edge.Node {
	t.Helper()
	cfg, err := config.Parse("test", []byte(edgetest.Small(text)))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen = at
	n, err := edge.New(t.Context(), edge.Options{
		Config: &cfg,
		Log:    slog.New(slog.DiscardHandler), FailMode: mode,
	})
	if err != nil {
		t.Fatal(err)
	}
	doortest.Serve(t, n.Run)
	return n
}

// daemonOf returns a client of a node that runs with the same configuration on a socket.
func daemonOf(t testing.TB, text string) *client.Client {
	t.Helper()
	at := config.Listen{UDP: []config.Address{{Host: "127.0.0.1"}}}
	n := started(t, text, at, client.FailOpen)
	c, err := client.Dial(n.Addresses().Datagram[0].String(), client.WithTimeout(edgetest.Patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// comparable returns an answer without what differs from one node to another: numbers of tickets,
// and times that pass.
func comparable(a client.Answer, err error) string {
	passing := fmt.Sprint(a.Ticket != "", a.Reset > 0, a.Retry > 0)
	a.Ticket, a.Reset, a.Retry = "", 0, 0
	if errors.Is(err, client.ErrUnknownRule) != errors.Is(a.Err, client.ErrUnknownRule) {
		passing += " the error is not the answer's"
	}
	return fmt.Sprintf("%+v %s", a, passing)
}

// pair asks a daemon and a node in the program the same.
type pair struct {
	t      *testing.T
	daemon *client.Client
	node   *edge.Node
}

// same asks both, fails the test unless they answer alike, and returns the tickets.
func (p pair) same(
	name string, question func(l client.Limiter) (client.Answer, error),
) (tickets [2]string) {
	p.t.Helper()
	a, errA := question(p.daemon)
	b, errB := question(p.node)
	if far, near := comparable(a, errA), comparable(b, errB); far != near {
		p.t.Fatalf("%s:\ndaemon %s\nnode   %s", name, far, near)
	}
	return [2]string{a.Ticket, b.Ticket}
}

// anyOf returns one of the texts.
func anyOf(r *rand.Rand, texts ...string) string { return texts[r.IntN(len(texts))] }

// query asks one query that r draws.
func (p pair) query(r *rand.Rand) {
	p.t.Helper()
	q := client.Query{
		// below 4
		Op: wire.Op(r.IntN(4)), Rule: anyOf(r, "few", "dry", "blocks", "bucket", "off", "slow",
			"none", "not a rule", ""),
		Key:  anyOf(r, "a", "b", "c", "", "\x00 %", strings.Repeat("k", 300)),
		Cost: []uint32{0, 0, 1, 2, 5, 1 << 30}[r.IntN(6)],
	}
	p.same(fmt.Sprintf("%+v", q), func(l client.Limiter) (client.Answer, error) {
		if q.Op == wire.Count {
			err := l.Count(p.t.Context(), q.Rule, q.Key, q.Cost)
			return client.Answer{Shadow: err == nil}, nil
		}
		answers, err := l.Batch(p.t.Context(), []client.Query{q})
		return answers[0], err
	})
}

// drawRequest returns a request that r draws.
func drawRequest(r *rand.Rand) client.Request {
	return client.Request{
		Method: anyOf(r, "", "GET", "POST", "no token"),
		Host:   anyOf(r, "", "API.example.com:443", "not/a host"),
		Path: anyOf(r, "", "x", "/login", "/login?a=b", "/x/../.env", "/slow", "/tokens",
			"/all/1", "/all/"+strings.Repeat("x", 9000), "/\xff %20"),
		Client: netip.MustParseAddr(anyOf(r, "192.0.2.1", "203.0.113.7",
			"::ffff:203.0.113.8", "2001:db8::1")),
		Headers: http.Header{
			"X-Api-Key": {anyOf(r, "one", "", strings.Repeat("v", 2000))}, "Bad Name": {"x"},
			"Cookie": {"a=b", "c=d"},
		},
		Country: anyOf(r, "", "DE"), ASN: r.Uint32N(2), TLS: anyOf(r, "", "TLSv1.3"),
		Scheme: anyOf(r, "", "https"), Tier: anyOf(r, "", "gold", "a tier"),
	}
}

// request asks one request that r draws, and most often reports its response.
func (p pair) request(r *rand.Rand) {
	p.t.Helper()
	q := drawRequest(r)
	tickets := p.same(fmt.Sprintf("%.200q", fmt.Sprint(q)),
		func(l client.Limiter) (client.Answer, error) { return l.Ask(p.t.Context(), q) })
	if r.IntN(4) == 0 {
		return
	}
	is := client.Response{
		// 0 or 3
		Status: []int{0, 200, 401, 401, 5000}[r.IntN(5)], Cost: uint32(r.IntN(20) / 19 * 3),
		Headers: http.Header{"X-Tokens": {anyOf(r, "7", "60", "no number")}, "Bad Name": {"x"}},
	}
	for i, l := range []client.Limiter{p.daemon, p.node} {
		if err := l.Report(p.t.Context(), tickets[i], is); err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestNodeAnswersAsItsDaemon: a node in the program and a daemon give the same answers to the same
// questions, in the same order.
func TestNodeAnswersAsItsDaemon(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1)) // a fixed seed
		p := pair{t, daemonOf(t, embeddedConfig), embed(t, embeddedConfig, client.FailOpen)}
		for range 300 {
			if r.IntN(3) == 0 {
				p.query(r)
			} else {
				p.request(r)
			}
		}
		if far, near := p.daemon.Stats(), p.node.Stats(); far.Queries != near.Queries ||
			far.Unanswered != near.Unanswered {
			t.Errorf("seed %d: %+v, %+v", seed, far, near)
		}
	}
}

// TestNodeFailMode: where there is no verdict, the answer is that of the mode.
func TestNodeFailMode(t *testing.T) {
	t.Parallel()
	for mode, allowed := range map[client.FailMode]bool{
		client.FailOpen:   true,
		client.FailClosed: false,
	} {
		n := embed(t, embeddedConfig, mode)
		if ok, err := n.Allow(t.Context(), "none", "k"); ok != allowed ||
			!errors.Is(err, client.ErrUnknownRule) {
			t.Errorf("mode %d: %t, %v", mode, ok, err)
		}
		if a, err := n.Check(t.Context(), "not a rule", "k", 1); a.Allowed() != allowed ||
			!errors.Is(err, error(wire.BadRequest)) {
			t.Errorf("mode %d: %+v, %v", mode, a, err)
		}
		if err := n.Report(t.Context(), "no ticket",
			client.Response{}); !errors.Is(err, error(wire.BadRequest)) {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
}

// TestNodeEndsWithItsLimit: however many goroutines ask, the limit is let pass.
func TestNodeEndsWithItsLimit(t *testing.T) {
	t.Parallel()
	n := embed(t, "{node: test, memory: 4MiB, rules: [{name: r, limit: 100, window: 1h}]}",
		client.FailOpen)
	var passed atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if ok, _ := n.Allow(context.Background(), "r", "k"); ok {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if passed.Load() != 100 {
		t.Errorf("%d of 100 passed", passed.Load())
	}
}

// TestNodeHandler: a place is held until the handler returns.
func TestNodeHandler(t *testing.T) {
	t.Parallel()
	n := embed(t, "{node: test, memory: 4MiB, rules: [], policies: [{name: one, match: {}, kind: "+
		"concurrency, limit: 1}]}", client.FailOpen)
	visit := func(h http.Handler) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return w.Code
	}
	last := n.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	h := n.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if code := visit(last); code != http.StatusTooManyRequests {
			t.Errorf("a second one beside the first: %d", code)
		}
	}))
	for range 3 {
		if code := visit(h); code != http.StatusOK {
			t.Errorf("one after the other: %d", code)
		}
	}
}
