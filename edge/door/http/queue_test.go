package http

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestHTTPStopAnswersQueue checks that a stop answers requests whose connections nobody had
// accepted yet.
func TestHTTPStopAnswersQueue(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]config.Address{
		"tcp":  {Host: "127.0.0.1"},
		"unix": {Path: filepath.Join(t.TempDir(), "http.sock")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := door.Listen(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			waiting := queue(t, ln.Addr(), 100)
			stopped, stop := context.WithCancel(t.Context())
			stop()
			if err := newDoor(newFakeDecider(), testLimits()).Serve(stopped, ln); err != nil {
				t.Error(err)
			}
			checkQueue(t, waiting)
		})
	}
}

// queue sends a request on each of n connections that nobody accepts.
func queue(t *testing.T, at net.Addr, n int) (conns []net.Conn) {
	t.Helper()
	for range n {
		c := doortest.Dial(t, at)
		if _, err := io.WriteString(c, okRequest); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	return conns
}

// checkQueue checks that each was answered, and closed afterwards. One that was accepted before the
// door had seen the stop is not told that its answer is the last.
func checkQueue(t *testing.T, conns []net.Conn) {
	t.Helper()
	cut := 0
	for _, c := range conns {
		in := bufio.NewReader(c)
		r, err := http.ReadResponse(in, nil)
		if err != nil || r.StatusCode != http.StatusOK {
			cut++
			continue
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("after the answer: %v", err)
		}
	}
	if cut > 0 {
		t.Errorf("%d of %d requests cut", cut, len(conns))
	}
}

// TestHTTPStopEndsQueue checks that clients who never cease to come cannot hold up a stop.
func TestHTTPStopEndsQueue(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	edgetest.Within(t, "the stop", 5*time.Second, func() time.Duration {
		began := time.Now()
		if err := newDoor(newFakeDecider(),
			testLimits()).Serve(stopped, &endlessListener{}); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	})
}

// endlessListener always has one more connection, which has already ended.
type endlessListener struct{ net.TCPListener }

func (*endlessListener) Accept() (net.Conn, error) {
	ours, theirs := net.Pipe()
	return ours, theirs.Close()
}
func (*endlessListener) SetDeadline(time.Time) error { return nil }
func (*endlessListener) Close() error                { return nil }
func (*endlessListener) Addr() net.Addr              { return &net.TCPAddr{} }
