package udp

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"golang.org/x/sys/unix"
)

// many datagrams are as many as one system call takes.
const many = 64

// waiting opens a door at address and has client send it datagrams before it serves, so that they
// arrive as one batch. edit, if any, may change the door's socket before.
func waiting(t *testing.T, address string, edit func(fd int) error, send func(to net.Addr)) *Door {
	t.Helper()
	at, err := config.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	u, err := Listen(t.Context(), gatetest.New(t, 1<<20, gatetest.Shed), nil, at, 1)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		raw, err := u.sockets[0].SyscallConn()
		if err == nil {
			err = onSocket(raw, edit)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send(u.Addr())
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- u.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return u
}

// ask sends n lines on c whose answers are equally long.
func exchange(t *testing.T, c net.Conn, n int) {
	t.Helper()
	for k := range n {
		if _, err := fmt.Fprintf(c, "peek x k id=%03d", k); err != nil {
			t.Fatal(err)
		}
	}
}

// checkAnswers reads the answers to ask, in order.
func checkAnswers(t *testing.T, c net.Conn, n int) {
	t.Helper()
	for k := range n {
		if got, want := read(t, c), fmt.Sprintf("id=%03d error unknown-rule\n", k); got != want {
			t.Fatalf("reply %d: %q, want %q", k, got, want)
		}
	}
	checkSilent(t, c)
}

// read returns the next datagram.
func read(t *testing.T, c net.Conn) string {
	t.Helper()
	reply := make([]byte, 64<<10)
	n, err := c.Read(reply)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply[:n])
}

// checkSilent checks that no further datagram is there.
func checkSilent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1<<10)); err == nil {
		t.Errorf("%d bytes more than were asked for", n)
	}
}

// Replies to one client leave in one message, over both families, and arrive as the datagrams that
// they are without it.
func TestRepliesLeaveInRuns(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			var c net.Conn
			u := waiting(t, address, nil, func(to net.Addr) {
				c = doortest.Dial(t, to)
				exchange(t, c, many)
			})
			checkAnswers(t, c, many)
			if got := u.Stats(); got.InRuns != many || got.SendFailed != 0 || got.RunsRefused != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A run ends where a reply is longer than those before it, or the client is another.
func TestRunsEnd(t *testing.T) {
	t.Parallel()
	var a, b net.Conn
	const short, long = "ping", "peek x k"
	asked := []string{long, long, short, short, long, long}
	u := waiting(t, "127.0.0.1:0", nil, func(to net.Addr) {
		a, b = doortest.Dial(t, to), doortest.Dial(t, to)
		for _, line := range asked {
			_, _ = a.Write([]byte(line))
		}
		exchange(t, b, 2)
		exchange(t, a, 2)
	})
	for _, line := range asked {
		want := map[string]string{short: "pong\n", long: "error unknown-rule\n"}[line]
		if got := read(t, a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	checkAnswers(t, a, 2)
	checkAnswers(t, b, 2)
	// a: two and a shorter one | one alone | two | b: two | a: two
	if got := u.Stats(); got.InRuns != 3+2+2+2 {
		t.Errorf("%d replies in runs", got.InRuns)
	}
}

// Where the kernel does not take runs, as on a device that computes no checksums, every reply is
// sent all the same, and the socket tries no further run. A socket without checksums is such a
// case.
func TestRefusedRunsGoOneByOne(t *testing.T) {
	t.Parallel()
	var c net.Conn
	u := waiting(t, "127.0.0.1:0", func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1)
	}, func(to net.Addr) {
		c = doortest.Dial(t, to)
		exchange(t, c, many)
	})
	checkAnswers(t, c, many)
	_ = c.SetReadDeadline(time.Now().Add(doortest.Patience))
	exchange(t, c, many)
	checkAnswers(t, c, many)
	if got := u.Stats(); got.RunsRefused != 1 || got.InRuns != 0 || got.SendFailed != 0 {
		t.Errorf("%+v", got)
	}
}

// Off loopback a run holds only replies that fit every path; unix sockets have none.
func TestLongestInRun(t *testing.T) {
	t.Parallel()
	u := doorOf(gatetest.New(t, 1<<20, gatetest.Shed), true)
	u.sockets = make([]*net.UDPConn, 1)
	if got := u.longestInRun(0); got != 1232 {
		t.Errorf("off loopback %d bytes", got)
	}
	if got := u.longestInRun(1); got != 0 {
		t.Errorf("a unix socket: %d bytes", got)
	}
}
