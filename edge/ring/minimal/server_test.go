package minimal

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

func newServer(now func() time.Time) *Server {
	return &Server{now: now, counters: map[string]serverCounter{}, conns: map[net.Conn]bool{}}
}

func TestServerAnswers(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	s := newServer(func() time.Time { return now })
	for _, c := range []struct{ asked, want string }{
		{"mn", "MN\r\n"},
		{"version", "VERSION stand-in\r\n"},
		{"ma k D0 v O1", "NF O1\r\n"},
		{"ma k N10 J5 D7 v O2", "VA 1 O2\r\n5\r\n"},
		{"ma k N10 J5 D7 v O3", "VA 2 O3\r\n12\r\n"},
		{"ma k D0 v", "VA 2\r\n12\r\n"},
		{"ma k D18446744073709551615 v", "VA 2\r\n11\r\n"},
		{"ma k D18446744073709551616 v", "CLIENT_ERROR bad command line format\r\n"},
		{"ma k D1", "CLIENT_ERROR bad command line format\r\n"},
		{"ma k q v", "CLIENT_ERROR bad command line format\r\n"},
		{"ma", "ERROR\r\n"},
		{"ma ", "CLIENT_ERROR bad command line format\r\n"},
		{"get k", "ERROR\r\n"},
		{"", "ERROR\r\n"},
	} {
		if got := string(s.answer([]byte(c.asked))); got != c.want {
			t.Errorf("%q: %q, want %q", c.asked, got, c.want)
		}
	}
	now = now.Add(10 * time.Second)
	if got := string(s.answer([]byte("ma k D0 v"))); got != "NF\r\n" {
		t.Errorf("ten seconds later: %q", got)
	}
}

// A full one refuses what is new, counts it, and has room again when counters lapse.
func TestServerIsBounded(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	s := newServer(func() time.Time { return now })
	for n := range maxCounters + 3 {
		s.answer(fmt.Appendf(nil, "ma k%d N10 J1 D1 v", n))
	}
	if len(s.counters) != maxCounters || s.full != 3 {
		t.Errorf("%d counters, %d refused", len(s.counters), s.full)
	}
	if got := string(s.answer([]byte("ma k0 D1 v"))); got != "VA 1\r\n2\r\n" {
		t.Errorf("a counter that is there: %q", got)
	}
	now = now.Add(time.Minute)
	if got := string(s.answer([]byte("ma new N10 J1 D1 v"))); got != "VA 1\r\n1\r\n" || len(s.counters) != 1 {
		t.Errorf("after they lapsed: %q, %d counters", got, len(s.counters))
	}
}

// One connection too many is closed, and so is one that sends what is longer than any command.
func TestServerConnections(t *testing.T) {
	s, err := Open(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(text string) (string, error) {
		conn, err := net.Dial("tcp", s.ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(edgetest.Patience)); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text)) // it may be closed by now
		answer := make([]byte, 4)
		n, err := conn.Read(answer)
		return string(answer[:n]), err
	}
	if said, err := ask(strings.Repeat("x", 2*MaxLine)); err == nil {
		t.Errorf("to a long line it says %q", said)
	}
	edgetest.Await(t, "the connection is forgotten", edgetest.Patience, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 0
	})
	for range maxConns {
		if said, err := ask("mn\r\n"); said != "MN\r\n" {
			t.Fatalf("%q, %v", said, err)
		}
	}
	if said, err := ask("mn\r\n"); err == nil {
		t.Errorf("one too many is told %q", said)
	}
}

func FuzzParseStandIn(f *testing.F) {
	for _, line := range []string{
		"ma hg:0 N60 J5 D5 v O7", "ma k D0 v O8", "ma k v", "ma  k  D1  v ", "ma k D-1 v", "ma k O v", "ma k N4294967295 J1 D1 v", "ma", "mn", "ma \x00 v",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c, ok := parseAdd(line)
		if !ok {
			return
		}
		if c.key == "" || len(c.key) > 250 || strings.ContainsAny(c.key, " \r\n") {
			t.Errorf("%q is of the key %q", line, c.key)
		}
		if opaque, is := strings.CutPrefix(c.opaque, " O"); is != (c.opaque != "") || strings.ContainsAny(opaque, " \r\n") || len(opaque) > 32 {
			t.Errorf("%q is to be called %q", line, c.opaque)
		}
		if d := lifeOf(c.ttl); d <= 0 {
			t.Errorf("%q lives %v", line, d)
		}
	})
}
