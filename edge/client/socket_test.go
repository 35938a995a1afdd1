package client

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// A daemon that comes, goes and comes back is seen each time, by the same client.
func TestClientSurvivesRestart(t *testing.T) {
	udp := serve(t, "udp", "", honest)
	udp.stop()
	for network, address := range map[string]string{
		"udp":      udp.address(),
		"unixgram": socketPath(t),
	} {
		t.Run(network, func(t *testing.T) {
			c := dialTo(t, network, address, slow)
			for range 3 {
				a, err := c.Check(t.Context(), "r", "k", 1)
				want(t, a, err, wire.Allow, ErrNoDaemon)
				d := serve(t, network, address, honest)
				a, err = c.Check(t.Context(), "r", "no", 1)
				want(t, a, err, wire.Deny, nil)
				d.stop()
			}
		})
	}
}

func TestClose(t *testing.T) {
	asked := make(chan struct{}, 1)
	d := serve(t, "udp", "", func(string, func(string)) { asked <- struct{}{} })
	c := dialTo(t, "udp", d.address(), slow)
	go func() {
		<-asked
		_ = c.Close()
	}()
	a, err := c.Check(patient(t), "r", "k", 1)
	want(t, a, err, wire.Allow, ErrClosed)
	a, err = c.Check(patient(t), "r", "k", 1)
	want(t, a, err, wire.Allow, ErrClosed)
	if err := c.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if n := readers(); n != 0 {
		t.Errorf("%d goroutines are left of a closed client", n)
	}
}

// lingering is a socket whose reader takes its time to end.
type lingering struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
	ended  atomic.Bool
}

func (l *lingering) Read([]byte) (int, error) {
	<-l.closed
	for range 1000 {
		runtime.Gosched()
	}
	l.ended.Store(true)
	return 0, net.ErrClosed
}

func (l *lingering) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func TestCloseWaitsForTheReader(t *testing.T) {
	c := &Client{}
	conn := &lingering{closed: make(chan struct{})}
	if err := c.adopt(conn); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if !conn.ended.Load() {
		t.Error("Close returned while the reader was alive")
	}
}

func TestClosedClientAdoptsNoSocket(t *testing.T) {
	c := &Client{closed: true}
	conn := &lingering{closed: make(chan struct{})}
	if err := c.adopt(conn); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	<-conn.closed
	c.readers.Wait()
}

// fillQueue asks until the daemon's socket takes no more.
func fillQueue(t *testing.T, c *Client) {
	t.Helper()
	for full := false; !full; {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Microsecond)
		_, err := c.Check(ctx, "r", "k", 1)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		raw, err := c.conn.(*net.UnixConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Write(func(fd uintptr) bool {
			full = errors.Is(syscall.Sendto(int(fd), []byte("x"), 0, nil), syscall.EAGAIN)
			return true
		})
	}
}

// A daemon that stops reading its unix socket blocks the writer; neither the
// timeout nor a cancelled context may wait for it.
func TestBlockedWriterKeepsItsDeadline(t *testing.T) {
	path := socketPath(t)
	conn, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	c := dialTo(t, "unixgram", path, slow)
	fillQueue(t, c)
	var calls sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	for range 8 { // one writes, the others wait for their turn
		calls.Go(func() {
			if _, err := c.Check(ctx, "r", "k", 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
	calls.Wait()
	d := &daemon{conn, nil}
	go d.run(honest)
	a, err := c.Check(t.Context(), "r", "no", 1) // and the socket is as good as before
	want(t, a, err, wire.Deny, nil)
}

func TestManyGoroutinesGetTheirOwnAnswers(t *testing.T) {
	d := serve(t, "udp", "", honest)
	c := dialTo(t, "udp", d.address(), slow)
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			for j := range 50 {
				cost := uint32(1 + 1000*i + j)
				if a, err := c.Check(t.Context(), "r", "k"+strconv.Itoa(i), cost); err != nil ||
					a.Remaining != int64(cost) {
					t.Errorf("asked at cost %d, got %+v, %v", cost, a, err)
				}
			}
		})
	}
	callers.Wait()
}

// The same, while the daemon comes and goes: an answer is right or an error.
func TestManyGoroutinesThroughRestarts(t *testing.T) {
	d := serve(t, "udp", "", honest)
	address := d.address()
	c := dialTo(t, "udp", address, WithTimeout(2*time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := 1; ctx.Err() == nil; j++ {
				cost := uint32(1 + (100_000*i+j)%wire.MaxCost)
				if a, err := c.Check(ctx, "r", "k", cost); err == nil &&
					a.Remaining != int64(cost) {
					t.Errorf("asked at cost %d, got %+v", cost, a)
				} else if err != nil && a.Err == nil {
					t.Errorf("an error, and yet an answer: %+v, %v", a, err)
				}
			}
		})
	}
	for range 10 {
		d.stop()
		d = serve(t, "udp", address, honest)
		for { // until it is seen
			if _, err := c.Check(t.Context(), "r", "k", 1); err == nil {
				break
			}
		}
	}
	cancel()
	callers.Wait()
}
