package stream_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/stream"
)

// echoing answers each read with the same bytes, and with "bye" at a stop.
type echoing struct {
	*stream.Conn
	room     [64]byte
	patience time.Duration
}

func (e *echoing) Room() []byte            { return e.room[:] }
func (e *echoing) Patience() time.Duration { return e.patience }

func (e *echoing) Take(n int, err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) && e.Stopping() {
		_ = e.WriteWithin([]byte("bye\n"), time.Second)
	}
	if n > 0 {
		e.Show()
	}
	return err == nil && e.WriteWithin(e.room[:n], time.Second) == nil
}

func echo(c *stream.Conn) { c.Feed(&echoing{Conn: c, patience: time.Minute}) }

// start serves s on a loopback port. stop ends it and waits.
func start(t *testing.T, s *stream.Server) (at string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	return ln.Addr().String(), func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// dial connects to at and returns the connection with a reader of its lines.
func dial(t *testing.T, at string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return c, bufio.NewReader(c)
}

// say sends a line and expects one back.
func say(t *testing.T, c net.Conn, r *bufio.Reader, line, want string) {
	t.Helper()
	if line != "" {
		if _, err := io.WriteString(c, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.ReadString('\n'); got != want+"\n" {
		t.Fatalf("%q, %v, want %q", got, err, want)
	}
}

// TestStop: an idle connection hears of a stop at once, and Serve waits for it.
func TestStop(t *testing.T) {
	t.Parallel()
	s := &stream.Server{Name: "echo", Most: 4, Drain: 30 * time.Second, Handle: echo}
	at, stop := start(t, s)
	c, r := dial(t, at)
	say(t, c, r, "one", "one")
	stop()
	say(t, c, r, "", "bye")
	if got := s.Stats(); got != (stream.Stats{Accepted: 1}) {
		t.Error(got)
	}
	if _, err := net.Dial("tcp", at); err == nil {
		t.Error("the listener is open after the stop")
	}
}

// TestFull: a connection above Most is closed after Full had its say, and counted; the others go
// on.
func TestFull(t *testing.T) {
	t.Parallel()
	s := &stream.Server{
		Name: "echo", Most: 1, Drain: 30 * time.Second, Handle: echo,
		Full: func(c *stream.Conn) { _ = c.WriteWithin([]byte("full\n"), time.Second) },
	}
	at, stop := start(t, s)
	first, r := dial(t, at)
	say(t, first, r, "one", "one")
	second, r2 := dial(t, at)
	say(t, second, r2, "", "full")
	if _, err := r2.ReadByte(); !errors.Is(err, io.EOF) {
		t.Error("the second connection is not closed:", err)
	}
	say(t, first, r, "two", "two")
	if got := s.Stats(); got != (stream.Stats{Accepted: 1, Rejected: 1, Open: 1}) {
		t.Error(got)
	}
	stop()
}

// TestFault: a client at fault that sends more than is read learns why, and that no more comes, and
// keeps its place for FaultPause.
func TestFault(t *testing.T) {
	t.Parallel()
	s := &stream.Server{
		Name:  "strict",
		Most:  1,
		Drain: 30 * time.Second,
		Handle: func(c *stream.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_ = c.WriteWithin([]byte("no\n"), time.Second)
			c.Fault()
		},
	}
	at, stop := start(t, s)
	began := time.Now()
	c, r := dial(t, at)
	say(t, c, r, "much more than it reads", "no")
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Error("the client does not learn of the end:", err)
	}
	doortest.WaitFor(t, func() bool { return s.Stats().Open == 0 })
	if kept := time.Since(began); kept < stream.FaultPause {
		t.Errorf("it kept its place for %v", kept)
	}
	stop()
}

// TestCut: a Handle that does not end by itself is cut after Drain.
func TestCut(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s := &stream.Server{
		Name:  "deaf",
		Most:  4,
		Drain: 10 * time.Millisecond,
		Handle: func(c *stream.Conn) {
			close(begun)
			_ = c.SetReadDeadline(time.Time{})
			for {
				if _, err := io.Copy(io.Discard, c); err == nil || errors.Is(err, net.ErrClosed) {
					return
				}
				_ = c.SetReadDeadline(time.Time{}) // it ignores the stop
			}
		},
	}
	at, stop := start(t, s)
	c, _ := dial(t, at)
	<-begun
	stop()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
}

// TestPeer: a TCP connection has its address, a unix socket none.
func TestPeer(t *testing.T) {
	t.Parallel()
	peers := make(chan bool, 1)
	s := &stream.Server{
		Name: "peer", Most: 1, Drain: time.Second,
		Handle: func(c *stream.Conn) { peers <- c.Peer().IsLoopback() },
	}
	at, stop := start(t, s)
	dial(t, at)
	if !<-peers {
		t.Error("the peer is not 127.0.0.1")
	}
	stop()
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	if (&stream.Conn{Conn: a}).Peer().IsValid() {
		t.Error("a pipe has an address")
	}
}

// TestReadWithin: a read within a time of its own is not cut short by a stop, and ends at its time.
func TestReadWithin(t *testing.T) {
	t.Parallel()
	read := make(chan error, 2)
	s := &stream.Server{Name: "part", Most: 2, Drain: never, Handle: func(c *stream.Conn) {
		if c.ID > 1 {
			echo(c)
			return
		}
		var b [1]byte
		for _, within := range []time.Duration{never, time.Millisecond} {
			_, err := c.ReadWithin(b[:], within)
			read <- err
		}
	}}
	at, stop := start(t, s)
	c, _ := dial(t, at)
	doortest.WaitFor(t, func() bool { return s.Stats().Open == 1 })
	idle, told := dial(t, at)
	say(t, idle, told, "one", "one")
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	say(t, idle, told, "", "bye") // the wait at the stop is over
	if _, err := io.WriteString(c, "a"); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Errorf("within its time: %v", err)
	}
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after its time: %v", err)
	}
	<-stopped
}

// TestKeeps: a Server that keeps its connections has no place for one too many.
func TestKeeps(t *testing.T) {
	t.Parallel()
	s := &stream.Server{Name: "echo", Most: 1, Keeps: true, Drain: never, Handle: echo}
	at, stop := start(t, s)
	t.Cleanup(stop)
	silent, r := dial(t, at)
	doortest.WaitFor(t, func() bool { return s.Stats().Open == 1 })
	_, more := dial(t, at)
	if _, err := more.ReadByte(); err == nil {
		t.Error("answered")
	}
	say(t, silent, r, "one", "one")
	if got := s.Stats(); got.Rejected != 1 || got.Displaced != 0 {
		t.Error(got)
	}
}
