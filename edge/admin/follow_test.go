package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/live"
)

// How long things take at most, as docs/protocol.md states it or as readers of streams rely on it.
const (
	writeTimeout = 5 * time.Second        // for an answer, and for one frame of a stream
	liveEvery    = time.Second            // between two pictures
	lastWord     = 100 * time.Millisecond // to end a stream
)

// pipes is a listener without a network, for bubbles of virtual time. Nothing is buffered on the
// way.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.accept <- theirs
	return ours, nil
}

// follower is a client of a stream that reads whatever comes.
type follower struct {
	t      *testing.T
	body   io.ReadCloser
	events chan live.Event
	ended  error // once events is closed
}

// follow opens a stream over connections that dial makes.
func follow(
	t *testing.T, dial func(context.Context, string, string) (net.Conn, error), query string,
) *follower {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://localhost/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	//nolint:bodyclose // closed by close
	response, err := (&http.Transport{DialContext: dial}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if ct := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK ||
		ct != "text/event-stream" {
		t.Fatalf("status %d, %s", response.StatusCode, ct)
	}
	f := &follower{t: t, body: response.Body, events: make(chan live.Event, 1000)}
	var reading sync.WaitGroup
	reading.Go(f.read)
	t.Cleanup(func() {
		f.close()
		reading.Wait()
	})
	return f
}

func (f *follower) read() {
	defer close(f.events)
	for s := live.NewScanner(f.body); ; {
		e, err := s.Next()
		if err != nil {
			f.ended = err
			return
		}
		f.events <- e
	}
}

func (f *follower) close() { _ = f.body.Close() }

// next returns the next event, which must be called name.
func (f *follower) next(name string) live.Event {
	f.t.Helper()
	e, more := <-f.events
	if !more || e.Name != name {
		f.t.Fatalf("event %q %s, %v; want %s", e.Name, e.Data, f.ended, name)
	}
	return e
}

// eventOf returns the data of the next event, which must be called name.
func eventOf[T any](f *follower, name string) (v T) {
	f.t.Helper()
	e := f.next(name)
	if err := json.Unmarshal(e.Data, &v); err != nil {
		f.t.Fatalf("%s: %v", e.Data, err)
	}
	return v
}

// inBubble serves an admin on pipes in virtual time, which passes as test has it, and ends it.
func inBubble(t *testing.T, o admin.Options, test func(t *testing.T, a *node, p *pipes)) {
	t.Helper()
	inBubbleOf(t, newGate, o, test)
}

// inBubbleOf is inBubble with another gate, which it makes in virtual time.
func inBubbleOf(
	t *testing.T, make func(*testing.T) *gate.Gate, o admin.Options,
	test func(t *testing.T, a *node, p *pipes),
) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o.Local = true
		a, p := newNodeOf(make(t), o), newPipes()
		stop := serve(t, a, p)
		test(t, a, p)
		began := time.Now()
		if err := stop(); err != nil || time.Since(began) > 2*lastWord {
			t.Errorf("%v, stopped after %v", err, time.Since(began))
		}
	})
}

func (a *node) mustSet(t *testing.T, body string) {
	t.Helper()
	if w := a.ask("POST", "/v1/mitigations", body); w.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
}

// viewers returns how many streams are open, by the metrics.
func viewers(t *testing.T, a *node) (n int) {
	t.Helper()
	for _, line := range scrape(t, a) {
		if value, ok := strings.CutPrefix(line, "headgate_events_viewers "); ok {
			n, _ = strconv.Atoi(value)
		}
	}
	return n
}
