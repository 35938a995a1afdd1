package edge

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// patience bounds every wait of a test: long enough for a busy machine, short enough for a person.
const patience = 10 * time.Second

// fakeJudge answers what the key asks for and remembers every query it was given.
type fakeJudge struct {
	rules map[string]*mitigation.Rule

	mu    sync.Mutex
	asked []wire.Query // with copies of their slices
	gate  chan struct{}
}

func newFakeJudge() *fakeJudge {
	rules := map[string]*mitigation.Rule{}
	for _, r := range []mitigation.Rule{
		{Name: "login", Limit: 5, Window: time.Minute, Action: mitigation.Block, BlockFor: 10 * time.Minute},
		{Name: "per-ip", Limit: 100, Window: 10 * time.Second},
		{Name: "odd_window.v2", Limit: 1_000_000_000, Window: 1500 * time.Millisecond},
	} {
		rules[r.Name] = &r
	}
	return &fakeJudge{rules: rules}
}

func (*fakeJudge) Now() window.Instant { return 1 }

func (j *fakeJudge) Rule(name []byte) *mitigation.Rule { return j.rules[string(name)] }

func (j *fakeJudge) decide(_ uint64, _ window.Instant, _ uint64, q wire.Query) Decision {
	r := j.rules[string(q.Rule)]
	if r == nil {
		return Decision{}
	}
	if j.gate != nil {
		<-j.gate
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	q.Rule, q.Key = bytes.Clone(q.Rule), bytes.Clone(q.Key)
	j.asked = append(j.asked, q)
	return Decision{Rule: r, Answer: fakeAnswer(q)}
}

func fakeAnswer(q wire.Query) wire.Answer {
	if q.Op == wire.Count {
		return wire.Answer{Status: wire.OK}
	}
	switch string(q.Key) {
	case "limited":
		return wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 7, Retry: 9}
	case "blocked":
		return wire.Answer{Status: wire.Deny, Why: wire.WhyBlock, View: wire.ViewPoP, Reset: 30, Retry: 600}
	case "shed":
		return wire.Answer{Status: wire.Deny, Why: wire.WhyShed, View: wire.ViewGlobal, Ratio: 0.83, Remaining: 3}
	case "shadowed":
		return wire.Answer{Status: wire.Allow, Shadow: true, Reset: 60}
	}
	return wire.Answer{Status: wire.Allow, Remaining: 4, Reset: 60}
}

// queries returns what was asked so far.
func (j *fakeJudge) queries() []wire.Query {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]wire.Query(nil), j.asked...)
}

// testLimits are beyond the patience of every test, which therefore sees only what was meant to happen.
func testLimits() httpLimits {
	const never = 2 * patience
	return httpLimits{read: never, write: never, idle: never, drain: never, conns: maxHTTPConns}
}

// door is a listener under test.
type door struct {
	*HTTP
	addr net.Addr
	stop func() error // ends Serve and returns what it returned; may be called again
}

// openDoor serves j on a loopback port until the test ends.
func openDoor(t testing.TB, j judge, limits httpLimits) *door {
	t.Helper()
	ln, err := ListenHTTP(t.Context(), config.Address{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return serveDoor(t, newHTTP(j, limits), ln)
}

func serveDoor(t testing.TB, h *HTTP, ln net.Listener) *door {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, ln) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &door{HTTP: h, addr: ln.Addr(), stop: stop}
}

// dial connects to d, with a deadline for everything that follows.
func (d *door) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial(d.addr.Network(), d.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// reply is one response, its body read.
type reply struct {
	*http.Response
	body string
}

// readReply reads the next response of a connection.
func readReply(t testing.TB, br *bufio.Reader) reply {
	t.Helper()
	return readReplyTo(t, http.MethodGet, br)
}

func readReplyTo(t testing.TB, method string, br *bufio.Reader) reply {
	t.Helper()
	resp, err := http.ReadResponse(br, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("read response: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read body: %v", err)
	}
	return reply{resp, string(body)}
}

// send sends raw bytes on a connection of its own and returns the first response.
func (d *door) send(t testing.TB, raw string) reply {
	t.Helper()
	c := d.dial(t)
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	return readReply(t, bufio.NewReader(c))
}

// get asks for a target without a body.
func (d *door) get(t testing.TB, target string) reply {
	t.Helper()
	return d.send(t, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n")
}

// post sends a JSON body.
func (d *door) post(t testing.TB, target, body string) reply {
	t.Helper()
	return d.send(t, post(target, mediaJSON, body))
}

func post(target, contentType, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		target, contentType, len(body), body)
}
