package http

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestHTTPTooManyConnections checks that a connection too many is answered 503 and closed, and the
// others live.
func TestHTTPTooManyConnections(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.conns = 2
	d := openDoor(t, newFakeDecider(), limits)
	var kept []net.Conn
	for range limits.conns {
		c := d.dial(t)
		checkClosed(t, c, bufio.NewReader(c), false)
		kept = append(kept, c)
	}
	c := d.dial(t)
	br := bufio.NewReader(c)
	if r := doortest.ReadReply(t, br); r.StatusCode != http.StatusServiceUnavailable ||
		r.Header.Get("Retry-After") != "1" {
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

// TestHTTPBytes checks that the bytes of large bodies under way are bounded, that further bodies
// are answered 503, and that the bytes are returned however the requests end.
func TestHTTPBytes(t *testing.T) {
	t.Parallel()
	const bodies = 4
	limits := testLimits()
	limits.bytes = bodies * (maxHTTPRequest + 3*maxHTTPSmall)
	d := openDoor(t, newFakeDecider(), limits)
	full := func() bool { return d.Stats().UnderWay > limits.bytes-resultSize }
	var conns []net.Conn
	for range bodies {
		c := d.dial(t)
		fmt.Fprint(c, "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: "+
			"application/json\r\nContent-Length: 100000\r\n\r\n",
			strings.Repeat(" ", 2*maxHTTPSmall))
		conns = append(conns, c)
	}
	doortest.WaitFor(t, full)
	batch := post("/v1/check", jsonType, `{"checks":[{"rule":"login","key":"a"}]}`)
	checkProblem(t, d.send(t, batch), http.StatusServiceUnavailable, "body")
	if r := d.get(t, "/v1/check?rule=login&key=a"); r.StatusCode != http.StatusOK {
		t.Errorf("a check without a body: status %d", r.StatusCode)
	}
	if s := d.Stats(); s.Crowded != 1 || s.UnderWay < limits.bytes-resultSize {
		t.Errorf("%+v", s)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	doortest.WaitFor(t, func() bool { return d.Stats().UnderWay == 0 })
	if r := d.send(t, batch); r.StatusCode != http.StatusOK {
		t.Errorf("after them: status %d", r.StatusCode)
	}
	doortest.WaitFor(t, func() bool { return d.Stats().UnderWay == 0 })
}

// TestHTTPStop checks that stopping answers what is under way, ends idle connections at once and
// refuses new ones.
func TestHTTPStop(t *testing.T) {
	t.Parallel()
	j := newFakeDecider()
	d := openDoor(t, j, testLimits())
	idle, fresh, half, busy := d.dial(t), d.dial(t), d.dial(t), d.dial(t)
	checkClosed(t, idle, bufio.NewReader(idle), false)
	fmt.Fprint(half, okRequest[:10])
	doortest.WaitFor(t, func() bool { return d.Stats().UnderWay == head.Size })
	j.gate = make(chan struct{})
	fmt.Fprint(busy, okRequest+okRequest)
	j.gate <- struct{}{} // the first request is in the decider's hands, or just past them

	started := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- d.stop() }()
	checkClosed(t, idle, bufio.NewReader(idle), true)
	close(j.gate)
	fmt.Fprint(half, okRequest[10:])
	checkLast(t, busy)
	checkLast(t, half)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(started); took > doortest.Patience {
		t.Errorf("took %v: the fresh connection was waited for", took)
	}
	_ = fresh.Close()
	if _, err := net.Dial(d.addr.Network(),
		d.addr.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after the stop: %v", err)
	}
	if n := d.Stats().Open; n != 0 {
		t.Errorf("%d connections open", n)
	}
}

// checkLast reads answers up to one that closes the connection: they must be good ones.
func checkLast(t *testing.T, c net.Conn) {
	t.Helper()
	br := bufio.NewReader(c)
	for {
		r := doortest.ReadReply(t, br)
		if r.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", r.StatusCode, r.Text)
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
	edgetest.Within(t, "the stop", 5*time.Second, func() time.Duration {
		d := openDoor(t, newFakeDecider(), limits)
		c := d.dial(t)
		fmt.Fprint(c, "GET /v1/che")
		doortest.WaitFor(t, func() bool { return d.Stats().Open == 1 })
		started := time.Now()
		if err := d.stop(); err != nil {
			t.Error(err)
		}
		return time.Since(started)
	})
}

// TestHTTPServeFails checks that a listener that breaks ends Serve with the reason.
func TestHTTPServeFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := newDoor(newFakeDecider(), testLimits()).Serve(t.Context(),
		doortest.FailingListener{Err: broken})
	if !errors.Is(err, broken) {
		t.Errorf("Serve: %v", err)
	}
}
