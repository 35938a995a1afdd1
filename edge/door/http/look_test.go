//go:build unix

package http

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

// heldDecider is a fakeDecider that says when it is asked, and waits to be let go.
type heldDecider struct {
	*fakeDecider
	begun, goes chan struct{}
}

func (j heldDecider) Decide(
	conn uint64, now window.Instant, u uint64, q gate.Ask,
) (gate.Decision, error) {
	j.begun <- struct{}{}
	<-j.goes
	return j.fakeDecider.Decide(conn, now, u, q)
}

// TestHTTPEndWithRequest: the end of a stream is seen, also one that comes with the last request,
// of which the system tells no more than that there was something.
func TestHTTPEndWithRequest(t *testing.T) {
	t.Parallel()
	j := heldDecider{newFakeDecider(), make(chan struct{}), make(chan struct{})}
	c := openDoor(t, j, testLimits()).dial(t)
	write(t, c, okRequest)
	<-j.begun
	write(t, c, okRequest)
	if err := c.(*net.TCPConn).CloseWrite(); err != nil { //nolint:forcetypeassert // it is one
		t.Fatal(err)
	}
	j.goes <- struct{}{}
	<-j.begun
	j.goes <- struct{}{}
	br := bufio.NewReader(c)
	for range 2 {
		if r := doortest.ReadReply(t, br); r.StatusCode != 200 {
			t.Errorf("status %d", r.StatusCode)
		}
	}
	if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last answer: %v", err)
	}
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// TestHTTPIdleOverLook: the wait for the next request is as long as it is to be, although it is
// looked at on the way.
func TestHTTPIdleOverLook(t *testing.T) {
	t.Parallel()
	l := testLimits()
	const looks = time.Second // see stream
	l.idle = looks + looks/5
	c := openDoor(t, newFakeDecider(), l).dial(t)
	br := bufio.NewReader(c)
	for range 3 {
		write(t, c, okRequest)
		doortest.ReadReply(t, br)
	}
	began := time.Now()
	if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if took := time.Since(began); took < l.idle-10*time.Millisecond { // the answer was on its way
		t.Errorf("the wait ended after %v, want %v", took, l.idle)
	}
}

// TestHTTPRequestAfterLook: a request that comes after its connection was looked at is answered as
// any.
func TestHTTPRequestAfterLook(t *testing.T) {
	t.Parallel()
	c := openDoor(t, newFakeDecider(), testLimits()).dial(t)
	br := bufio.NewReader(c)
	for range 2 {
		write(t, c, okRequest)
		doortest.ReadReply(t, br)
		if err := c.SetReadDeadline(time.Now().Add(time.Second + 100*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := br.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("while nothing is asked: %v", err)
		}
		if err := c.SetReadDeadline(time.Now().Add(doortest.Patience)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHTTPQuickAndOther: requests of all kinds on one connection, wherever they are cut.
func TestHTTPQuickAndOther(t *testing.T) {
	t.Parallel()
	const all = okRequest + okRequest +
		"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n" + `{"rule":"login","key":"abc"}` +
		okRequest + "GET /v1/check?rule=login&key=%61 HTTP/1.1\r\nHost: h\r\n\r\n" + okRequest
	d := openDoor(t, newFakeDecider(), testLimits())
	for cut := 1; cut < len(all); cut += 5 {
		c := d.dial(t)
		write(t, c, all[:cut])
		write(t, c, all[cut:])
		br := bufio.NewReader(c)
		for n := range 6 {
			if r := doortest.ReadReply(t, br); r.StatusCode != 200 {
				t.Fatalf("cut at %d, answer %d: status %d", cut, n, r.StatusCode)
			}
		}
		_ = c.Close()
	}
}
