package gossip

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/headgate-dev/headgate/gossip/lossy"
)

func newTestGuard(t *testing.T, cfg Config) *guard {
	t.Helper()
	g := newGuard(lossy.New(1, lossy.Fault{}).End("10.0.0.1:1"), cfg, &counters{})
	t.Cleanup(func() { _ = g.Shutdown() })
	return g
}

func TestGuardOfPackets(t *testing.T) {
	g := newTestGuard(t, Config{Label: "us", Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	ours := &net.UDPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 1} // a v4 address in 16 bytes
	labelled := append([]byte{labelMark, 2, 'u', 's'}, "encrypted"...)
	for _, c := range []struct {
		what string
		p    memberlist.Packet
		why  Reason
		ok   bool
	}{
		{"good", memberlist.Packet{Buf: labelled, From: ours}, 0, true},
		{"too long", memberlist.Packet{Buf: append(labelled, make([]byte, maxDatagram)...), From: ours}, dropOversize, false},
		{"foreign", memberlist.Packet{Buf: labelled, From: &net.UDPAddr{IP: net.IPv4(11, 0, 0, 1)}}, dropForeign, false},
		{"no address", memberlist.Packet{Buf: labelled, From: &net.UnixAddr{Name: "x"}}, dropForeign, false},
		{"other label", memberlist.Packet{Buf: []byte{labelMark, 2, 'm', 'e', 0}, From: ours}, dropLabel, false},
		{"no label", memberlist.Packet{Buf: []byte{8, 1, 1, 1, 1, 1}, From: ours}, dropLabel, false},
		{"short", memberlist.Packet{Buf: []byte{labelMark}, From: ours}, dropLabel, false},
	} {
		if why, ok := g.admit(&c.p); ok != c.ok || why != c.why {
			t.Errorf("%s: admitted %v (%v), want %v (%v)", c.what, ok, why, c.ok, c.why)
		}
	}
	for range maxPackets + 4 {
		g.packet(&memberlist.Packet{Buf: labelled, From: ours})
	}
	if got := g.c.drops()["backlog"]; got != 4 {
		t.Errorf("%d dropped behind a full channel, want 4", got)
	}
}

// from is one end of a pipe that says where it comes from.
type from struct {
	net.Conn
	host string
}

func (f from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.host), Port: 1} }

// pipe returns a connection and closes its other end with the test.
func pipe(t *testing.T, host string) net.Conn {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { _ = b.Close() })
	return from{a, host}
}

func TestGuardBoundsStreams(t *testing.T) {
	g := newTestGuard(t, Config{})
	var open []*stream
	for i := range maxStreams {
		s, why, ok := g.admitStream(pipe(t, fmt.Sprint("10.0.0.", i/maxHostStream)))
		if !ok {
			t.Fatalf("refused: %v", why)
		}
		open = append(open, s)
	}
	if _, why, ok := g.admitStream(pipe(t, "10.0.0.9")); ok || why != dropStreams {
		t.Errorf("one stream too many: %v %v", ok, why)
	}
	if g.track(pipe(t, "10.0.0.9"), false) == nil {
		t.Error("streams of others keep this node from dialling")
	}
	_ = open[0].Close()
	_ = open[0].Close() // twice is once
	if _, why, ok := g.admitStream(pipe(t, "10.0.0.1")); ok || why != dropStreams {
		t.Errorf("one address has more than %d streams", maxHostStream)
	}
	if _, why, ok := g.admitStream(pipe(t, "10.0.0.9")); !ok {
		t.Errorf("no room after a stream was closed: %v", why)
	}
}

func TestGuardBoundsAccepts(t *testing.T) {
	g := newTestGuard(t, Config{})
	refused := 0
	for range maxAccepts + 10 {
		if s, why, ok := g.admitStream(pipe(t, "10.0.0.9")); ok {
			_ = s.Close()
		} else if why == dropAccepts {
			refused++
		}
	}
	if refused < 5 || refused > 10 {
		t.Errorf("%d streams refused of %d at once, want about 10", refused, maxAccepts+10)
	}
}

func TestStreamIsReadSoFar(t *testing.T) {
	g := newTestGuard(t, Config{})
	a, b := net.Pipe()
	s := g.track(a, true)
	s.budget = 10
	go func() {
		_, _ = b.Write(make([]byte, 20))
		_ = b.Close()
	}()
	buf := make([]byte, 64)
	if n, err := s.Read(buf); n != 10 || err != nil {
		t.Errorf("read %d bytes, %v; want 10", n, err)
	}
	if _, err := s.Read(buf); !errors.Is(err, errStreamLong) {
		t.Errorf("the rest: %v", err)
	}
	_ = s.Close()
}

func TestRate(t *testing.T) {
	now := time.Unix(1000, 0)
	r := rate{perSecond: 10, burst: 5, tokens: 5}
	taken := 0
	for range 300 { // three seconds in steps of 10 ms
		now = now.Add(10 * time.Millisecond)
		if r.take(now) {
			taken++
		}
	}
	if taken < 34 || taken > 35 {
		t.Errorf("%d in three seconds, want the burst of 5 and 30", taken)
	}
	if r.take(now.Add(-time.Hour)) {
		t.Error("a clock that steps back gives tokens")
	}
}

// A peer that accepts and never reads holds a dial up only until its deadline: memberlist writes the label before it
// sets one.
func TestDialHasADeadline(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	g := newGuard(mustBind(t), Config{}, &counters{})
	defer func() { _ = g.Shutdown() }()
	conn, err := g.DialTimeout(ln.Addr().String(), 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a read from a silent peer: %v, want a timeout", err)
	}
	_ = g.Shutdown()
	if _, err := g.DialTimeout(ln.Addr().String(), time.Second); !errors.Is(err, errClosed) {
		t.Errorf("a dial after the end: %v", err)
	}
}

func mustBind(t *testing.T) *socket {
	t.Helper()
	s, err := bind(netip.MustParseAddrPort("127.0.0.1:0"), &counters{})
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}
