package edge

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// TestHTTPTooManyConnections checks that a connection too many is answered 503 and closed, and the others live.
func TestHTTPTooManyConnections(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.conns = 2
	d := openDoor(t, newFakeJudge(), limits)
	var kept []net.Conn
	for range limits.conns {
		c := d.dial(t)
		checkClosed(t, c, bufio.NewReader(c), false)
		kept = append(kept, c)
	}
	c := d.dial(t)
	br := bufio.NewReader(c)
	if r := readReply(t, br); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") != "1" {
		t.Errorf("status %d, %v", r.StatusCode, r.Header)
	}
	checkClosed(t, c, br, true)
	if s := d.Stats(); s.Accepted != 2 || s.Rejected != 1 || s.Open != 2 {
		t.Errorf("%+v", s)
	}
	for _, c := range kept {
		checkClosed(t, c, bufio.NewReader(c), false)
	}
}

// TestHTTPPlaces checks that large bodies under way are bounded, and that a place comes back however its holder ends.
func TestHTTPPlaces(t *testing.T) {
	t.Parallel()
	d := openDoor(t, newFakeJudge(), testLimits())
	batch := post("/v1/check", mediaJSON, `{"checks":[{"rule":"login","key":"a"}]}`)
	for range maxHTTPPlaces {
		c := d.dial(t)
		fmt.Fprint(c, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
			strings.Repeat(" ", maxHTTPSmall+1))
		defer func() { _ = c.Close() }()
	}
	waitFor(t, func() bool { return len(d.places) == maxHTTPPlaces })
	checkProblem(t, d.send(t, batch), http.StatusServiceUnavailable, "body")
	if r := d.get(t, "/v1/check?rule=login&key=a"); r.StatusCode != http.StatusOK {
		t.Errorf("a check without a body: status %d", r.StatusCode)
	}
	d.each(func(c *httpConn) { _ = c.Close() })
	waitFor(t, func() bool { return len(d.places) == 0 })
	if r := d.send(t, batch); r.StatusCode != http.StatusOK {
		t.Errorf("after them: status %d", r.StatusCode)
	}
	waitFor(t, func() bool { return len(d.places) == 0 })
}

// waitFor waits until ok, or fails the test.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(late) {
			t.Fatal("waited in vain")
		}
	}
}

// TestHTTPStop checks that stopping answers what is under way, ends idle connections at once and refuses new ones.
func TestHTTPStop(t *testing.T) {
	t.Parallel()
	j := newFakeJudge()
	d := openDoor(t, j, testLimits())
	idle, fresh, half, busy := d.dial(t), d.dial(t), d.dial(t), d.dial(t)
	checkClosed(t, idle, bufio.NewReader(idle), false)
	fmt.Fprint(half, okRequest[:10])
	waitFor(t, func() bool { return begun(d) == 2 })
	j.gate = make(chan struct{})
	fmt.Fprint(busy, okRequest+okRequest)
	j.gate <- struct{}{} // the first request is in the judge's hands, or just past them

	started := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- d.stop() }()
	waitFor(t, d.draining.Load)
	close(j.gate)
	fmt.Fprint(half, okRequest[10:])
	checkLast(t, busy)
	checkLast(t, half)
	checkClosed(t, idle, bufio.NewReader(idle), true)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(started); took > patience {
		t.Errorf("took %v: the fresh connection was waited for", took)
	}
	_ = fresh.Close()
	if _, err := net.Dial(d.addr.Network(), d.addr.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after the stop: %v", err)
	}
	if n := d.Stats().Open; n != 0 {
		t.Errorf("%d connections open", n)
	}
}

// begun returns on how many connections something was read.
func begun(d *door) (n int) {
	d.each(func(c *httpConn) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.fresh {
			n++
		}
	})
	return n
}

// checkLast reads answers up to one that closes the connection: they must be good ones.
func checkLast(t *testing.T, c net.Conn) {
	t.Helper()
	br := bufio.NewReader(c)
	for {
		r := readReply(t, br)
		if r.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", r.StatusCode, r.body)
		}
		if r.Close {
			checkClosed(t, c, br, true)
			return
		}
	}
}

// TestHTTPStopCuts checks that a client that never finishes cannot hold up a stop.
func TestHTTPStopCuts(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.drain = 50 * time.Millisecond
	d := openDoor(t, newFakeJudge(), limits)
	c := d.dial(t)
	fmt.Fprint(c, "GET /v1/che")
	waitFor(t, func() bool { return d.Stats().Open == 1 })
	started := time.Now()
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(started); took > patience/2 {
		t.Errorf("took %v", took)
	}
}

// TestHTTPServeFails checks that a listener that breaks ends Serve with the reason.
func TestHTTPServeFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := newHTTP(newFakeJudge(), testLimits()).Serve(t.Context(), failingListener{broken})
	if !errors.Is(err, broken) {
		t.Errorf("Serve: %v", err)
	}
}

type failingListener struct{ err error }

func (l failingListener) Accept() (net.Conn, error) { return nil, l.err }
func (failingListener) Close() error                { return nil }
func (failingListener) Addr() net.Addr              { return &net.TCPAddr{} }

// TestHTTPConnNoLongerWaits checks the gap between an answer and the wait for the next request: who begins to wait after
// the door has gone round its connections ends at once too.
func TestHTTPConnNoLongerWaits(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	h := newHTTP(newFakeJudge(), testLimits())
	c := &httpConn{Conn: ours, door: h}
	noteState(c, fasthttp.StateIdle)
	h.draining.Store(true)
	defer time.AfterFunc(patience, func() { _ = ours.Close() }).Stop()
	if err := c.SetReadDeadline(time.Now().Add(2 * patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
}
