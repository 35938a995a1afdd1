package stream_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// never is longer than any test takes.
const never = time.Hour

// taking is a Feeder that says what it takes.
type taking struct {
	room     []byte
	patience time.Duration
	begun    chan struct{} // Take was called
	took     chan string   // a text, or an error's; receiving lets the connection go on
}

func (f *taking) Room() []byte            { return f.room }
func (f *taking) Patience() time.Duration { return f.patience }

func (f *taking) Take(n int, err error) bool {
	f.begun <- struct{}{}
	if err != nil {
		f.took <- err.Error()
		return false
	}
	f.took <- string(f.room[:n])
	return true
}

// takes fails the test unless f takes these, one after the other.
func (f *taking) takes(t *testing.T, want ...string) {
	t.Helper()
	for _, text := range want {
		select {
		case got := <-f.took:
			if got != text {
				t.Fatalf("took %q, want %q", got, text)
			}
		case <-time.After(edgetest.Patience):
			t.Fatalf("took nothing, want %q", text)
		}
	}
}

// feed connects a client to f.
func feed(t *testing.T, f *taking) net.Conn {
	t.Helper()
	f.took, f.begun = make(chan string), make(chan struct{}, 16)
	at, stop := start(t, &stream.Server{
		Name: "feed", Most: 1, Drain: time.Second,
		Handle: func(c *stream.Conn) { c.Feed(f) },
	})
	t.Cleanup(stop)
	c, _ := dial(t, at)
	return c
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// TestFeedEnd: the end of a stream is seen, also one that comes with the last bytes, of which the
// system tells no more than that there was something.
func TestFeedEnd(t *testing.T) {
	t.Parallel()
	f := &taking{room: make([]byte, 64), patience: never}
	c := feed(t, f)
	write(t, c, "first")
	<-f.begun // and waits for the test
	write(t, c, "last")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil { //nolint:forcetypeassert // it is one
		t.Fatal(err)
	}
	f.takes(t, "first", "last", io.EOF.Error())
}

// TestFeedRoom: what does not fit into the room comes in parts.
func TestFeedRoom(t *testing.T) {
	t.Parallel()
	f := &taking{room: make([]byte, 4), patience: never}
	c := feed(t, f)
	write(t, c, "one to twelve")
	f.takes(t, "one ", "to t", "welv", "e")
	write(t, c, "more")
	f.takes(t, "more")
	_ = c.Close()
	f.takes(t, io.EOF.Error())
}

// TestFeedPatience: a silence lasts for as long as the feeder's patience, however early a
// connection is looked at again.
func TestFeedPatience(t *testing.T) {
	t.Parallel()
	const patience = 1200 * time.Millisecond // the look comes after 1 s
	f := &taking{room: make([]byte, 64), patience: patience}
	feed(t, f)
	began := time.Now()
	f.takesLate(t)
	if took := time.Since(began); took < patience-10*time.Millisecond {
		t.Errorf("the first wait ended after %v", took)
	}
	f = &taking{room: make([]byte, 64), patience: patience}
	c := feed(t, f)
	write(t, c, "a")
	f.takes(t, "a")
	began = time.Now()
	f.takesLate(t)
	if took := time.Since(began); took < patience-10*time.Millisecond {
		t.Errorf("the second wait ended after %v", took)
	}
}

// takesLate fails the test unless the next that f takes is the end of its patience.
func (f *taking) takesLate(t *testing.T) {
	t.Helper()
	if got := <-f.took; !strings.Contains(got, os.ErrDeadlineExceeded.Error()) {
		t.Fatalf("took %q", got)
	}
}

// TestWriteToSlowReader: a peer that does not read for a while gets all there is, and one that
// never does ends the connection.
func TestWriteToSlowReader(t *testing.T) {
	t.Parallel()
	all := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than the socket keeps
	wrote := make(chan error, 2)
	at, stop := start(t, &stream.Server{
		Name: "slow", Most: 2, Drain: never,
		Handle: func(c *stream.Conn) {
			within := never
			if c.ID > 1 {
				within = 50 * time.Millisecond
			}
			wrote <- c.WriteWithin(all, within)
		},
	})
	t.Cleanup(stop)
	c, r := dial(t, at)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d bytes of %d, or others: %v", len(got), len(all), err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	_ = c.Close()
	dial(t, at)
	if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("nobody reads: %v", err)
	}
}
