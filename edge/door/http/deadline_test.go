package http

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/door/http/head"
)

// timedConn takes and gives bytes at once, and remembers which deadlines it was given.
type timedConn struct {
	net.Conn
	read, write       time.Time
	readSet, writeSet int
}

func (c *timedConn) Read([]byte) (int, error)    { return 1, nil }
func (c *timedConn) Write(b []byte) (int, error) { return len(b), nil }
func (c *timedConn) SetReadDeadline(t time.Time) error {
	c.read, c.readSet = t, c.readSet+1
	return nil
}

func (c *timedConn) SetWriteDeadline(t time.Time) error {
	c.write, c.writeSet = t, c.writeSet+1
	return nil
}

// The timeouts of the doors here.
const (
	timedRead  = 2 * time.Second
	timedWrite = 3 * time.Second
	timedIdle  = 30 * time.Second
)

func newTimedConn() (*timedConn, *httpConn) {
	nc := &timedConn{}
	return nc, newDoor(newFakeDecider(),
		limits{read: timedRead, write: timedWrite, idle: timedIdle, conns: 1}).newConn(nc)
}

// ask does with c as one request, which comes in reads parts and is answered
// in writes parts.
func (c *httpConn) ask(t *testing.T, reads, writes int, between time.Duration) {
	t.Helper()
	for i := range reads {
		if i > 0 {
			time.Sleep(between) // in a synctest bubble
		}
		if err := c.more(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			c.begun()
		}
	}
	for i := range writes {
		if i > 0 {
			time.Sleep(between)
		}
		if _, err := c.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
	}
	c.ended()
	c.head = head.Head{}
}

// TestHTTPDeadlineOfRequest: one deadline for all of a request, however many reads it takes, and
// one for its answer.
func TestHTTPDeadlineOfRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nc, c := newTimedConn()
		const between = 100 * time.Millisecond
		c.ask(t, 1, 1, 0)
		for range 3 {
			time.Sleep(timedIdle / 2)
			start := time.Now()
			c.ask(t, 9, 9, between)
			// from when the rest is waited for
			if got := nc.read.Sub(start); got != timedRead+between {
				t.Errorf("a request may take %v, want %v", got, timedRead)
			}
			wrote := start.Add(8 * between)
			if got := nc.write.Sub(wrote); got < timedWrite ||
				got > timedWrite+timedWrite/deadlineSlack {
				t.Errorf("an answer may take %v, want %v", got, timedWrite)
			}
		}
	})
}

// TestHTTPDeadlineOfIdle: the wait for the next request is never cut short, is late by no more than
// 1 in deadlineSlack, and costs a busy connection a deadline now and then only.
func TestHTTPDeadlineOfIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nc, c := newTimedConn()
		const requests = 1000
		for n := range requests {
			reads := 1
			if n%200 == 0 { // its own deadline comes between
				reads = 2
			}
			c.ask(t, reads, 1, 0)
			time.Sleep(timedIdle / requests / 100)
			if err := c.limitRead(); err != nil {
				t.Fatal(err)
			}
			if got := time.Until(nc.read); got < timedIdle ||
				got > timedIdle+timedIdle/deadlineSlack {
				t.Fatalf("waits %v for the next request, want %v", got, timedIdle)
			}
		}
		if nc.readSet > requests/50 || nc.writeSet > requests/50 {
			t.Errorf("%d read and %d write deadlines set for %d requests", nc.readSet,
				nc.writeSet, requests)
		}
	})
}

// TestHTTPDeadlineOfFresh: who has sent nothing yet has no longer than for a request.
func TestHTTPDeadlineOfFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nc, c := newTimedConn()
		if err := c.limitRead(); err != nil {
			t.Fatal(err)
		}
		if got := time.Until(nc.read); got != timedRead {
			t.Errorf("waits %v for the first request, want %v", got, timedRead)
		}
	})
}
