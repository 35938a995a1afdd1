package minimal_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/ring/minimal"
)

// Bounds of a server, as its comment states them.
const (
	maxConns    = 16
	maxCounters = 1 << 16
)

// client is a connection to a server whose clock a test moves.
type client struct {
	testing.TB
	server *minimal.Server
	conn   net.Conn
	in     *bufio.Reader
	ahead  atomic.Int64 // of the server's clock before the start, nanoseconds
}

// newClient opens a server and connects to it.
func newClient(tb testing.TB) *client {
	tb.Helper()
	c, start := &client{TB: tb}, time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	s, err := minimal.Open(tb.Context(),
		func() time.Time { return start.Add(time.Duration(c.ahead.Load())) })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	c.server, c.conn = s, dial(tb, s)
	c.in = bufio.NewReader(c.conn)
	return c
}

// dial connects to s. The connection is closed at the end of the test.
func dial(tb testing.TB, s *minimal.Server) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

// pass moves the server's clock on.
func (c *client) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// ask returns the answer to a command: one line, or the two of VA.
func (c *client) ask(command string) string {
	c.Helper()
	if _, err := io.WriteString(c.conn, command+"\r\n"); err != nil {
		c.Fatal(err)
	}
	return c.answer()
}

// answer reads the next answer.
func (c *client) answer() string {
	c.Helper()
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.Fatalf("%q, %v", line, err)
	}
	if strings.HasPrefix(line, "VA ") {
		value, err := c.in.ReadString('\n')
		if err != nil {
			c.Fatalf("%q%q, %v", line, value, err)
		}
		line += value
	}
	return line
}

// TestServerAnswers: each command is answered as memcached answers it.
func TestServerAnswers(t *testing.T) {
	c := newClient(t)
	for asked, want := range doortest.Script(`
		mn → MN
		version → VERSION stand-in
		ma k D0 v O1 → NF O1
		ma k N10 J5 D7 v O2 → VA 1 O2 ; 5
		ma k N10 J5 D7 v O3 → VA 2 O3 ; 12
		ma k D0 v → VA 2 ; 12
		ma k D18446744073709551615 v → VA 2 ; 11
		ma k D18446744073709551616 v → CLIENT_ERROR bad command line format
		ma k D1 → CLIENT_ERROR bad command line format
		ma k q v → CLIENT_ERROR bad command line format
		ma → ERROR
		get k → ERROR
	`) {
		want = strings.ReplaceAll(want, " ; ", "\r\n") + "\r\n"
		if got := c.ask(asked); got != want {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
	if got := c.ask("") + c.ask("ma "); got != "ERROR\r\nCLIENT_ERROR bad command line format\r\n" {
		t.Errorf("without a command, or without a key: %q", got)
	}
	c.pass(10 * time.Second)
	if got := c.ask("ma k D0 v"); got != "NF\r\n" {
		t.Errorf("ten seconds later: %q", got)
	}
}

// TestServerIsBounded: a full server refuses new counters and counts them; when counters expire
// there is room again.
func TestServerIsBounded(t *testing.T) {
	c := newClient(t)
	const beyond = 3
	sent := make(chan error, 1)
	go func() {
		out := bufio.NewWriter(c.conn)
		for n := range maxCounters + beyond {
			fmt.Fprintf(out, "ma k%d N10 J1 D1 v\r\n", n)
		}
		sent <- out.Flush()
	}()
	for range maxCounters + beyond {
		c.answer()
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if held, full := len(c.server.Counters()), c.server.Full(); held != maxCounters ||
		full != beyond {
		t.Errorf("%d counters, %d refused", held, full)
	}
	if got := c.ask("ma k0 D1 v"); got != "VA 1\r\n2\r\n" {
		t.Errorf("a counter that is there: %q", got)
	}
	c.pass(time.Minute)
	if got := c.ask("ma new N10 J1 D1 v"); got != "VA 1\r\n1\r\n" || len(c.server.Counters()) != 1 {
		t.Errorf("after they expired: %q, %d counters", got, len(c.server.Counters()))
	}
}

// TestServerConnections: one connection too many is closed, and so is one that sends more than any
// command has.
func TestServerConnections(t *testing.T) {
	s, err := minimal.Open(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(text string) (string, error) {
		conn := dial(t, s)
		if err := conn.SetDeadline(time.Now().Add(edgetest.Patience)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text) // it may be closed by now
		answer := make([]byte, 4)
		n, err := conn.Read(answer)
		return string(answer[:n]), err
	}
	if said, err := ask(strings.Repeat("x", 2*minimal.MaxLine)); err == nil {
		t.Errorf("to a long line it says %q", said)
	}
	open := 0
	edgetest.Await(t, "its place is free, and all others", edgetest.Patience, func() bool {
		if said, _ := ask("mn\r\n"); said == "MN\r\n" {
			open++
		}
		return open == maxConns
	})
	if said, err := ask("mn\r\n"); err == nil {
		t.Errorf("one too many gets %q", said)
	}
}

// answers are the possible answers to one command. A value has as many digits as the first line
// says.
var answers = regexp.MustCompile(
	`^(MN|VERSION stand-in|ERROR|CLIENT_ERROR bad command line format|NF( O\S{1,32})?|VA (\d+)( O\S{1,32})?\r\n(\d+))\r\n$`)

// FuzzCommand: whatever line comes, it gets one answer of a form that memcached has, and makes at
// most one counter with a name that memcached allows.
func FuzzCommand(f *testing.F) {
	for _, line := range []string{
		"ma hg:0 N60 J5 D5 v O7", "ma k D0 v O8", "ma k v", "ma  k  D1  v ", "ma k D-1 v",
		"ma k O v", "ma k N4294967295 J1 D1 v", "ma", "mn", "ma \x00 v",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) > minimal.MaxLine-2 || bytes.ContainsRune(line, '\n') {
			return // not one command
		}
		c := newClient(t)
		said := c.ask(string(line))
		parts := answers.FindStringSubmatch(said)
		if parts == nil || parts[3] != "" && parts[3] != fmt.Sprint(len(parts[5])) {
			t.Errorf("to %q: %q", line, said)
		}
		made := c.server.Counters()
		for _, counter := range made {
			if counter.Name == "" || len(counter.Name) > 250 ||
				strings.ContainsAny(counter.Name, " \r\n") {
				t.Errorf("%q makes the counter %q", line, counter.Name)
			}
		}
		if len(made) > 1 || len(made) == 0 && strings.HasPrefix(said, "VA") {
			t.Errorf("%q makes %d counters", line, len(made))
		}
	})
}
