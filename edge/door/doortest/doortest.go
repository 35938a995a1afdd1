// Package doortest holds the helpers that the tests of listeners share: servers that run until the
// test ends, connections with a deadline, HTTP answers read from raw bytes, a listener that fails,
// and a wait for a condition. It rests on the standard library only, so that every room's tests may
// use it.
package doortest

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience bounds every wait of a test, in wall-clock time: long enough for a busy machine, short
// enough for a person.
const Patience = 30 * time.Second

// Dial connects to the listener at addr, TCP or unix. Reads and writes fail Patience after the
// call, or after the last Exchange; the test's end closes the connection. A failure to connect ends
// the test.
func Dial(t testing.TB, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Serve runs serve until stop is called or the test ends. stop ends its context and waits for it;
// that serve fails is an error of the test.
func Serve(t testing.TB, serve func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	var serving sync.WaitGroup
	serving.Go(func() { err = serve(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		if serving.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Reply is one HTTP response whose body has been read and closed.
type Reply struct {
	*http.Response
	Text string // the whole body
}

// ReadReply reads the next response to a GET from br, which must read from one connection for all
// its responses. A malformed response ends the test.
func ReadReply(t testing.TB, br *bufio.Reader) Reply {
	t.Helper()
	return ReadReplyTo(t, http.MethodGet, br)
}

// ReadReplyTo is ReadReply for a request with another method: the response to a HEAD has a length
// and no body.
func ReadReplyTo(t testing.TB, method string, br *bufio.Reader) Reply {
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
	return Reply{resp, string(body)}
}

// Exchange sends raw on c and reads one response to a GET. It is for one exchange a connection, or
// for clients that wait for each response: bytes after the response are lost.
func Exchange(t testing.TB, c net.Conn, raw string) Reply {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	return ReadReply(t, bufio.NewReader(c))
}

// WaitFor returns once ok returns true, which it calls every millisecond; after Patience it ends
// the test. It is for real sockets only: within a synctest bubble, wait for the event itself.
func WaitFor(t testing.TB, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(Patience); !ok(); <-tick.C {
		if time.Now().After(late) {
			t.Fatal("waited in vain")
		}
	}
}

// Script yields the lines of script but comments, each a question, an arrow and the answer:
// "PING → PONG". A line without an arrow panics.
func Script(script string) iter.Seq2[string, string] {
	return func(yield func(question, answer string) bool) {
		for line := range strings.Lines(strings.TrimSpace(script)) {
			question, answer, ok := strings.Cut(strings.TrimSpace(line), " → ")
			if strings.HasPrefix(question, "//") {
				continue
			}
			if !ok {
				panic("no arrow: " + line)
			}
			if !yield(question, answer) {
				return
			}
		}
	}
}

// FailingListener is a listener whose Accept always fails with Err.
type FailingListener struct{ Err error }

// Accept returns Err at once.
func (l FailingListener) Accept() (net.Conn, error) { return nil, l.Err }

// Close does nothing.
func (FailingListener) Close() error { return nil }

// Addr returns an empty TCP address.
func (FailingListener) Addr() net.Addr { return &net.TCPAddr{} }
