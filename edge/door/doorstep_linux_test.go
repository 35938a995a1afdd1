package door

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// behind returns a listener of TCP behind d, closed when the test ends.
func behind(t *testing.T, d *Doorstep) *swept {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := d.Before(ln).(*swept) //nolint:forcetypeassert // a test
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// come connects to l, says what there is to say, and returns the connection.
func come(t *testing.T, l *swept, says string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, says); err != nil {
		t.Fatal(err)
	}
	return c
}

// hurry connects to l and leaves, n times.
func hurry(t *testing.T, l *swept, n int) {
	t.Helper()
	for range n {
		_ = come(t, l, "").Close()
	}
}

// isAside reports whether the socket of l is set aside.
func (l *swept) isAside() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aside != none
}

// TestDoorstep: a connection that is ended is counted and not given; one that has said something
// is, ended or not, and one that has said nothing yet.
func TestDoorstep(t *testing.T) {
	var d Doorstep
	l := behind(t, &d)
	hurry(t, l, 3)
	_ = come(t, l, "left").Close()
	waits := come(t, l, "")
	defer func() { _ = waits.Close() }()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	if said, err := io.ReadAll(first); string(said) != "left" || err != nil {
		t.Errorf("%q %v", said, err)
	}
	second, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if second.RemoteAddr().String() != waits.LocalAddr().String() {
		t.Error("not the one that waits")
	}
	if n := d.Abandoned(); n != 3 {
		t.Errorf("%d abandoned", n)
	}
}

// TestDoorstepUnix: a unix listener stays as it is.
func TestDoorstepUnix(t *testing.T) {
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	if new(Doorstep).Before(ln) != ln {
		t.Error("another listener")
	}
}

// echo has l give its connections to a goroutine that sends back one byte of each, until l ends. It
// returns how many had one, and the error of l.
func echo(l *swept) (served <-chan int, ended <-chan error) {
	of, why := make(chan int, 1), make(chan error, 1)
	go func() {
		n := 0
		for {
			c, err := l.Accept()
			if err != nil {
				of <- n
				why <- err
				return
			}
			var b [1]byte
			if got, _ := c.Read(b[:]); got == 1 {
				n++
				_, _ = c.Write(b[:])
			}
			_ = c.Close()
		}
	}()
	return of, why
}

// TestDoorstepFlood: in a flood the socket is set aside, whoever asks is answered meanwhile, and
// after it the runtime has the socket again.
func TestDoorstepFlood(t *testing.T) {
	var d Doorstep
	l := behind(t, &d)
	served, _ := echo(l)
	asked := 0
	ask := func() {
		c := come(t, l, "x")
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(edgetest.Patience))
		if b, err := io.ReadAll(c); string(b) != "x" {
			t.Fatalf("%q %v", b, err)
		}
		asked++
	}
	for round := range 3 {
		edgetest.Await(t, "the socket is set aside", edgetest.Patience, func() bool {
			hurry(t, l, 2*floodLeast)
			return l.isAside()
		})
		for range 5 {
			hurry(t, l, 2*floodLeast)
			ask()
		}
		edgetest.Await(t, "the flood is over", edgetest.Patience,
			func() bool { return !l.isAside() })
		if ask(); d.Abandoned() < uint64(round+1)*floodLeast {
			t.Errorf("%d abandoned", d.Abandoned())
		}
	}
	_ = l.Close()
	if n := <-served; n != asked {
		t.Errorf("%d of %d were served", n, asked)
	}
}

// aside returns a listener whose socket is set aside, and the error of its Accept.
func aside(t *testing.T) (*swept, <-chan error) {
	t.Helper()
	l := behind(t, new(Doorstep))
	_, ended := echo(l)
	edgetest.Await(t, "the socket is set aside", edgetest.Patience, func() bool {
		hurry(t, l, 2*floodLeast)
		return l.isAside()
	})
	return l, ended
}

// TestDoorstepClose: a listener that is closed in a flood says so, and leaves no socket.
func TestDoorstepClose(t *testing.T) {
	l, ended := aside(t)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("somebody listens")
	}
}

// TestDoorstepDeadline: a deadline ends an Accept in a flood, and those that wait can be accepted
// after.
func TestDoorstepDeadline(t *testing.T) {
	l, ended := aside(t)
	if err := l.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	hurry(t, l, 2*floodLeast)
	c := come(t, l, "x")
	defer func() { _ = c.Close() }()
	if !Queued(l) {
		t.Error("nobody waits")
	}
	if err := l.SetDeadline(time.Now().Add(edgetest.Patience)); err != nil {
		t.Fatal(err)
	}
	got, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = got.Close()
	if l.isAside() {
		t.Error("set aside after a deadline")
	}
}
