package edge

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
)

// startUDP serves a datagram door of e at address and returns it; the test ends it.
func startUDP(t *testing.T, e *Edge, address string) *UDP {
	t.Helper()
	at, err := config.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	u, err := ListenUDP(t.Context(), e, at, 2)
	if err != nil {
		t.Fatal(err)
	}
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

// dialUDP returns a client socket connected to u.
func dialUDP(t *testing.T, u *UDP) net.Conn {
	t.Helper()
	c, err := net.Dial("udp", u.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// askUDP sends one datagram and returns the answer.
func askUDP(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	if _, err := c.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	reply := make([]byte, 64<<10)
	n, err := c.Read(reply)
	if err != nil {
		t.Fatalf("no answer to %.60q: %v", request, err)
	}
	return string(reply[:n])
}

func TestUDPSession(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule, blockRule)
	c := dialUDP(t, startUDP(t, e, "127.0.0.1:0"))
	batch := strings.Repeat("check shed b%20c id=7\n", 40)
	for _, s := range []struct{ request, want string }{
		{"ping", "pong\n"},
		{"check shed 203.0.113.7\n", "allow remaining=2 reset=10 view=node\n"},
		{"check shed 203.0.113.7 cost=2", "allow remaining=0 reset=10 view=node\n"},
		{"check shed 203.0.113.7", "deny why=limit retry=10 view=node\n"},
		{"peek shed 203.0.113.7", "deny why=limit retry=10 view=node\n"},
		{"peek shed other id=a", "id=a allow remaining=3 reset=0 view=node\n"},
		{"count shed other cost=3 unknown=option\npeek shed other", "ok\ndeny why=limit retry=10 view=node\n"},
		{"check none k id=x", "id=x error unknown-rule\n"},
		{"check shed", "error bad-request\n"},
		{"", "error bad-request\n"},
		{"\n", "error bad-request\n"},
		{"check shed %zz id=9\nping", "id=9 error bad-request\npong\n"},
		{"check shed k cost=0", "error bad-request\n"},
		{"check shed k cost=1000001", "error bad-request\n"},
		{"check shed " + strings.Repeat("k", 257), "error too-long\n"},
		{strings.Repeat("ping\n", 64), strings.Repeat("pong\n", 64)},
		{strings.Repeat("ping\n", 65), "error too-long\n"},
		{"ping\n" + strings.Repeat("x", 8200), "error too-long\n"},
		{strings.Repeat("\x00\xff garbage", 6000), "error too-long\n"},
		{
			batch, "id=7 allow remaining=2 reset=10 view=node\nid=7 allow remaining=1 reset=10 view=node\n" +
				"id=7 allow remaining=0 reset=10 view=node\n" + strings.Repeat("id=7 deny why=limit retry=10 view=node\n", 37),
		},
	} {
		if got := askUDP(t, c, s.request); got != s.want {
			t.Errorf("%.60q:\n got %q\nwant %q", s.request, got, s.want)
		}
	}
}

// TestMalformedIsNotCounted: what is answered with an error leaves no trace in any count.
func TestMalformedIsNotCounted(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule)
	u := startUDP(t, e, "127.0.0.1:0")
	c := dialUDP(t, u)
	for _, bad := range []string{
		"check shed k cost=x", "check shed k id=", "check  shed k", "chek shed k", "check shed k ", "check shed a\tb",
		strings.Repeat("check shed k\n", 65), "check shed k" + strings.Repeat(" o=1", 3000),
	} {
		if got := askUDP(t, c, bad); !strings.HasPrefix(got, "error ") {
			t.Errorf("%.40q: %q", bad, got)
		}
	}
	if got := askUDP(t, c, "peek shed k"); got != "allow remaining=3 reset=0 view=node\n" {
		t.Errorf("something was counted: %q", got)
	}
	if s := u.Stats(); s.Malformed != 6 || s.TooLong != 2 || s.Packets != 9 {
		t.Errorf("%+v", s)
	}
	if sum := e.rules.Load().byName["shed"].totals(); sum.offered() != 0 {
		t.Errorf("%d offered", sum.offered())
	}
}

func TestUnixDatagrams(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "udp.sock")
	e := newTestEdge(t, 1<<20, shedRule)
	u := startUDP(t, e, "unix:"+path)
	c, err := net.DialUnix("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "me"), Net: "unixgram"}, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if got := askUDP(t, c, "check shed k"); got != "allow remaining=2 reset=10 view=node\n" {
		t.Errorf("%q", got)
	}
	nameless, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nameless.Close() }()
	_, _ = nameless.Write([]byte("count shed k"))
	if got := askUDP(t, c, "peek shed k"); got != "allow remaining=1 reset=10 view=node\n" {
		t.Errorf("a client without a name is counted: %q", got)
	}
	if s := u.Stats(); s.Unanswered != 1 {
		t.Errorf("%+v", s)
	}
}

// TestOffLoopbackNeverAmplifies: there the answer is never longer than the question, whatever it is.
func TestOffLoopbackNeverAmplifies(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule)
	u := &UDP{edge: e, public: true}
	for _, s := range []struct{ request, want string }{
		{"check shed 203.0.113.7\n", "allow remaining=2\n"},
		{"check shed 203.0.113.7 pad=123456\n", "allow remaining=1 reset=10\n"},
		{"check shed k\n", "allow\n"},
		{"ping\n", "pong\n"},
		{"ping", "pong"}, // no line feed to pay for one
		{"ping\nping", "pong\npong"},
		{"x", ""},
		{"", ""},
		{"x\nping\n", ""},
		{strings.Repeat("y", 9000), "error too-long\n"},
	} {
		got := string(u.respond(0, e.Now(), []byte(s.request), nil))
		if got != s.want {
			t.Errorf("%.40q: %q, want %q", s.request, got, s.want)
		}
	}
	if u.Stats().Unanswered == 0 {
		t.Error("what was not sent is not counted")
	}
}

func FuzzRespond(f *testing.F) {
	for _, seed := range []string{"ping", "check shed k\npeek shed k id=1\n", "\n\n\n", "check shed %00 cost=9", strings.Repeat("check shed k\n", 65)} {
		f.Add([]byte(seed))
	}
	e := newTestEdge(f, 1<<20, shedRule)
	f.Fuzz(func(t *testing.T, packet []byte) {
		now := e.Now()
		public, private := &UDP{edge: e, public: true}, &UDP{edge: e}
		if reply := public.respond(0, now, bytes.Clone(packet), nil); len(reply) > len(packet) {
			t.Fatalf("%d bytes of answer to %d", len(reply), len(packet))
		}
		reply := private.respond(0, now, bytes.Clone(packet), nil)
		lines := countLines(packet)
		if len(packet) > wire.MaxDatagram || lines > wire.MaxLines {
			lines = 1
		}
		if got := bytes.Count(reply, []byte{'\n'}); got != lines || len(reply) > replyBytes {
			t.Fatalf("%d answers in %d bytes to %d lines", got, len(reply), lines)
		}
	})
}

// TestStopAnswersWhatArrived sends a volley, stops the door at once and counts the answers.
func TestStopAnswersWhatArrived(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule)
	at, _ := config.ParseAddress("127.0.0.1:0")
	u, err := ListenUDP(t.Context(), e, at, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := dialUDP(t, u)
	const volley = 100
	for n := range volley {
		fmt.Fprintf(c, "check shed k%d", n)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := u.Serve(ctx); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 512)
	for n := range volley {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(reply); err != nil {
			t.Fatalf("answer %d of %d: %v", n, volley, err)
		}
	}
}

// TestNodesDoNotAnswerEachOther: an answer sent as a question must not go back and forth for ever.
func TestNodesDoNotAnswerEachOther(t *testing.T) {
	u := &UDP{edge: newTestEdge(t, 1<<20, shedRule), public: true}
	for _, start := range []string{"error bad-request\n", "allow remaining=2 reset=10 view=node\n", "pong\n", "error too-long", strings.Repeat("x", 300)} {
		packet := []byte(start)
		for hops := 0; len(packet) > 0; hops++ {
			if hops == 4 {
				t.Errorf("%.30q is still being answered: %q", start, packet)
				break
			}
			packet = u.respond(0, u.edge.Now(), bytes.Clone(packet), nil)
		}
	}
}

// TestUnanswerableLinesDoNotHideOthers: what cannot be answered off loopback is counted all the same.
func TestUnanswerableLinesDoNotHideOthers(t *testing.T) {
	u := &UDP{edge: newTestEdge(t, 1<<20, shedRule), public: true}
	for range 3 {
		if got := u.respond(0, u.edge.Now(), []byte("\ncount shed k\n"), nil); len(got) != 0 {
			t.Errorf("%q", got)
		}
	}
	if got := u.edge.askAt(u.edge.Now(), wire.Check, "shed", "k", 1); got.Status != wire.Deny {
		t.Errorf("three were counted: %+v", got)
	}
}
