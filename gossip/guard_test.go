package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/headgate-dev/headgate/gossip/lossy"
)

// testKeys are the keys of a test's cluster.
func testKeys() [][]byte { return [][]byte{key(2), key(1)} }

func newTestGuard(t *testing.T, cfg Config) *guard {
	t.Helper()
	g := newGuard(lossy.New(1, lossy.Fault{}).End("10.0.0.1:1"), cfg, testKeys, &counters{})
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

// from is one end of a pipe with a remote address.
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

// TestStreamIsVetted: one message of a member passes unchanged, and nothing of any other stream
// does.
func TestStreamIsVetted(t *testing.T) {
	ours := streamOf(t, key(1), pushPull(0, 3, []byte("\x01\x03x")))
	long := append(append([]byte(nil), ours[:7]...), 0, 0x10, 0, 1)
	for _, c := range []struct {
		name string
		sent []byte
		want error
	}{
		{"good", ours, io.EOF},
		{"with more behind it", append(bytes.Clone(ours), "more"...), io.EOF},
		{"cut off", ours[:len(ours)-1], io.ErrUnexpectedEOF},
		{"nothing", nil, io.EOF},
		{"another label", append([]byte("\xf4\x04text"), ours[6:]...), errStreamLabel},
		{"no label", ours[6:], errStreamLabel},
		{"plain", append(ours[:6:6], pushPull(0, 0, nil)...), errStreamPlain},
		{"too long", long, errStreamLong},
		{"another key", streamOf(t, key(3), pushPull(0, 0, nil)), errSeal},
		{"compressed", streamOf(t, key(1), lzwBomb(t, 1000)), errCompressed},
		{"empty", streamOf(t, key(1), nil), errEmpty},
		{"user message", streamOf(t, key(1), append([]byte{8, 0x81, 0xaa}, "UserMsgLen\xce\x01\x40\x00\x00"...)), errMessage},
		{"members that are not there", streamOf(t, key(1), pushPull(1, 0, nil)), errMessage},
		{"too many members", streamOf(t, key(1), pushPull(6000, 0, bytes.Repeat([]byte{0x80}, 6000))), errMessage},
		{"too much state", streamOf(t, key(1), pushPull(0, MaxState+3, make([]byte, MaxState+3))), errMessage},
	} {
		g := newTestGuard(t, Config{Label: "test"})
		a, b := net.Pipe()
		s := g.track(a, true)
		go func() {
			_, _ = b.Write(c.sent)
			_ = b.Close()
		}()
		got, err := readAll(s)
		_ = s.Close()
		if good := c.want == io.EOF && c.sent != nil; !errors.Is(err, c.want) || good != (len(got) > 0) || good && !bytes.Equal(got, ours) {
			t.Errorf("%s: %d of %d bytes, %v; want %v", c.name, len(got), len(c.sent), err, c.want)
		}
	}
}

// readAll reads until there is an error, io.EOF included.
func readAll(r io.Reader) (all []byte, err error) {
	for buf := make([]byte, 100); err == nil; {
		var n int
		n, err = r.Read(buf)
		all = append(all, buf[:n]...)
	}
	return all, err
}

// TestLargeStreamsWait: two large messages are read at once, from two addresses; others wait for a
// place.
func TestLargeStreamsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(lossy.New(1, lossy.Fault{}).End("10.0.0.1:1"), Config{}, testKeys, &counters{})
		defer func() { _ = g.Shutdown() }()
		open := func(host string, theirs bool) *stream {
			a, b := net.Pipe()
			defer func() { _ = b.Close() }()
			return g.track(from{a, host}, theirs)
		}
		first, second := open("10.0.0.1", true), open("10.0.0.2", true)
		for _, s := range []*stream{first, second, open("10.0.0.1", false)} {
			if err := g.enter(s); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := g.enter(open("10.0.0.3", true)); !errors.Is(err, errStreamPlace) || time.Since(began) != streamTimeout {
			t.Errorf("a third one after %v: %v", time.Since(began), err)
		}
		entered := make(chan error, 1)
		go func() { entered <- g.enter(open("10.0.0.2", true)) }()
		synctest.Wait()
		_ = first.Close()
		synctest.Wait()
		select {
		case err := <-entered:
			t.Errorf("two of one address: %v", err)
		default:
		}
		_ = second.Close()
		if err := <-entered; err != nil {
			t.Error(err)
		}
	})
}

// TestPacketsThatUnpack: a member's packet is dropped if memberlist would have to unpack it,
// however it is wrapped, or would panic.
func TestPacketsThatUnpack(t *testing.T) {
	bomb := lzwBomb(t, 1<<20)[:200]
	compound := func(msg []byte) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{7, 2, 0, 1}, uint16(len(msg))), append([]byte{8}, msg...)...)
	}
	padded := packetOf(t, key(1), []byte("x"))
	padded[6] = 0
	g := newTestGuard(t, Config{Label: "test"})
	for name, c := range map[string]struct {
		packet []byte
		why    Reason
		ok     bool
	}{
		"good":                    {packetOf(t, key(1), []byte{8, 1, 2}), 0, true},
		"two good ones":           {packetOf(t, key(2), compound([]byte{8, 1, 2})), 0, true},
		"compressed":              {packetOf(t, key(1), bomb), dropCompressed, false},
		"in a compound":           {packetOf(t, key(1), compound(bomb)), dropCompressed, false},
		"in two":                  {packetOf(t, key(1), compound(compound(bomb))), dropCompressed, false},
		"with a checksum":         {packetOf(t, key(1), append([]byte{12, 1, 2, 3, 4}, bomb...)), dropCompressed, false},
		"empty":                   {packetOf(t, key(1), nil), dropMalformed, false},
		"padded":                  {padded, dropKey, false},
		"compressed, another key": {packetOf(t, key(3), bomb), 0, true}, // memberlist drops it and says so
	} {
		if why, ok := g.admit(&memberlist.Packet{Buf: c.packet, From: &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1)}}); ok != c.ok || why != c.why {
			t.Errorf("%s: admitted %v (%v), want %v (%v)", name, ok, why, c.ok, c.why)
		}
	}
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

// A peer that accepts and never reads delays a dial until its deadline at most: memberlist writes
// the label before it sets one.
func TestDialHasADeadline(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	g := newGuard(mustBind(t), Config{}, testKeys, &counters{})
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
