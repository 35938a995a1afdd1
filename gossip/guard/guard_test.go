package guard_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/headgate-dev/headgate/gossip/guard"
	"github.com/headgate-dev/headgate/gossip/guard/guardtest"
)

func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// inner is a transport below a guard, fed by the test.
type inner struct {
	packets chan *memberlist.Packet
	streams chan net.Conn
	dial    func() net.Conn
}

func (i *inner) FinalAdvertiseAddr(string, int) (net.IP, int, error) { return nil, 0, nil }
func (i *inner) WriteTo([]byte, string) (time.Time, error) {
	return time.Time{},
		nil
}
func (i *inner) PacketCh() <-chan *memberlist.Packet                       { return i.packets }
func (i *inner) StreamCh() <-chan net.Conn                                 { return i.streams }
func (i *inner) DialTimeout(string, time.Duration) (c net.Conn, err error) { return i.dial(), nil }
func (i *inner) Shutdown() error                                           { return nil }

// bench is a guard in a bubble, between the transport below and the test in memberlist's place.
type bench struct {
	*guard.Guard
	below   *inner
	traffic *guard.Traffic
}

// bubble runs f with a guard in a synctest bubble. Its cluster has the keys 2 and 1, the latter for
// others to encrypt with.
func bubble(t *testing.T, o guard.Options, f func(t *testing.T, b *bench)) {
	t.Helper()
	o.Keys = func() [][]byte { return [][]byte{key(2), key(1)} }
	o.MaxMembers, o.MaxState = 5000, 258<<10
	synctest.Test(t, func(t *testing.T) {
		b := &bench{below: &inner{
			packets: make(chan *memberlist.Packet),
			streams: make(chan net.Conn),
		}, traffic: &guard.Traffic{}}
		b.Guard = guard.New(b.below, o, b.traffic)
		defer func() { _ = b.Shutdown() }()
		f(t, b)
	})
}

// packet sends a packet from below, and returns whether it passes, or else the reason.
func (b *bench) packet(p *memberlist.Packet) (passes bool, why string) {
	before := b.traffic.Dropped.ByName()
	b.below.packets <- p
	synctest.Wait()
	for name, n := range b.traffic.Dropped.ByName() {
		if n != before[name] {
			why = name
		}
	}
	select {
	case <-b.PacketCh():
		return true, why
	default:
		return false, why
	}
}

func TestPacketsThatAreDropped(t *testing.T) {
	ours := &net.UDPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 1} // a v4 address in 16 bytes
	labelled := append([]byte{guard.LabelMark, 2, 'u', 's'}, "encrypted"...)
	bubble(t, guard.Options{
		Label: "us",
		Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}, func(t *testing.T, b *bench) {
		for _, c := range []struct {
			what string
			p    memberlist.Packet
			why  string // "" passes
		}{
			{"good", memberlist.Packet{Buf: labelled, From: ours}, ""},
			{"too long", memberlist.Packet{Buf: append(labelled,
				make([]byte, guard.MaxDatagram)...), From: ours}, "oversize"},
			{"foreign", memberlist.Packet{
				Buf:  labelled,
				From: &net.UDPAddr{IP: net.IPv4(11, 0, 0, 1)},
			}, "foreign"},
			{
				"no address",
				memberlist.Packet{Buf: labelled, From: &net.UnixAddr{Name: "x"}},
				"foreign",
			},
			{"other label", memberlist.Packet{
				Buf:  []byte{guard.LabelMark, 2, 'm', 'e', 0},
				From: ours,
			}, "label"},
			{"no label", memberlist.Packet{Buf: []byte{8, 1, 1, 1, 1, 1}, From: ours}, "label"},
			{"short", memberlist.Packet{Buf: []byte{guard.LabelMark}, From: ours}, "label"},
		} {
			if passes, why := b.packet(&c.p); passes != (c.why == "") || why != c.why {
				t.Errorf("%s: passes %v (%s), want %q", c.what, passes, why, c.why)
			}
		}
		for range guard.MaxPackets + 4 {
			b.below.packets <- &memberlist.Packet{Buf: labelled, From: ours}
		}
		synctest.Wait()
		if got := b.traffic.Dropped.Of(guard.Backlog); got != 4 {
			t.Errorf("%d dropped behind a full channel, want 4", got)
		}
	})
}

// TestPacketsThatUnpack: a member's packet is dropped if memberlist would have to unpack it,
// however it is wrapped, or would panic.
func TestPacketsThatUnpack(t *testing.T) {
	bomb := guardtest.Bomb(t, 1<<20)[:200]
	compound := func(msg []byte) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{7, 2, 0, 1}, uint16(len(msg))),
			append([]byte{8}, msg...)...)
	}
	padded := guardtest.Packet(t, key(1), []byte("x"))
	padded[6] = 0
	bubble(t, guard.Options{Label: guardtest.Label}, func(t *testing.T, b *bench) {
		for name, c := range map[string]struct {
			packet []byte
			why    string // "" passes
		}{
			"good":          {guardtest.Packet(t, key(1), []byte{8, 1, 2}), ""},
			"two good ones": {guardtest.Packet(t, key(2), compound([]byte{8, 1, 2})), ""},
			"compressed":    {guardtest.Packet(t, key(1), bomb), "compressed"},
			"in a compound": {guardtest.Packet(t, key(1), compound(bomb)), "compressed"},
			"in two": {
				guardtest.Packet(t, key(1), compound(compound(bomb))),
				"compressed",
			},
			"with a checksum": {guardtest.Packet(t, key(1),
				append([]byte{12, 1, 2, 3, 4}, bomb...)), "compressed"},
			"empty":  {guardtest.Packet(t, key(1), nil), "malformed"},
			"padded": {padded, "key"},
			// memberlist drops and logs it
			"compressed, another key": {guardtest.Packet(t, key(3), bomb), ""},
		} {
			if passes, why := b.packet(&memberlist.Packet{
				Buf:  c.packet,
				From: &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1)},
			}); passes != (c.why == "") ||
				why != c.why {
				t.Errorf("%s: passes %v (%s), want %q", name, passes, why, c.why)
			}
		}
	})
}

// from is one end of a pipe with a remote address.
type from struct {
	net.Conn
	host string
}

func (f from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.host), Port: 1} }

// stream opens a stream from host, and returns it as memberlist gets it, nil if it was closed
// instead, and the peer's end.
func (b *bench) stream(t *testing.T, host string) (conn, peer net.Conn) {
	t.Helper()
	ours, peer := net.Pipe()
	t.Cleanup(func() { _ = peer.Close() })
	b.below.streams <- from{ours, host}
	synctest.Wait()
	select {
	case conn = <-b.StreamCh():
	default:
	}
	return conn, peer
}

func TestStreamsAreBounded(t *testing.T) {
	bubble(t, guard.Options{}, func(t *testing.T, b *bench) {
		var open []net.Conn
		for i := range guard.MaxStreams {
			conn, _ := b.stream(t, fmt.Sprint("10.0.0.", i/guard.MaxHostStreams))
			if conn == nil {
				t.Fatalf("stream %d is closed: %v", i, b.traffic.Dropped.ByName())
			}
			open = append(open, conn)
		}
		if conn, _ := b.stream(t, "10.0.0.9"); conn != nil ||
			b.traffic.Dropped.Of(guard.Streams) != 1 {
			t.Errorf("one stream too many is open; %d dropped", b.traffic.Dropped.Of(guard.Streams))
		}
		b.below.dial = func() net.Conn { ours, _ := net.Pipe(); return from{ours, "10.0.0.9"} }
		if dialled, err := b.DialTimeout("10.0.0.9:1", time.Second); err != nil {
			t.Errorf("streams of others keep this node from dialling: %v", err)
		} else {
			_ = dialled.Close()
		}
		_ = open[0].Close()
		_ = open[0].Close() // twice is once
		time.Sleep(time.Second)
		if conn, _ := b.stream(t, "10.0.0.1"); conn != nil ||
			b.traffic.Dropped.Of(guard.Streams) != 2 {
			t.Errorf("one address has more than %d streams", guard.MaxHostStreams)
		}
		if conn, _ := b.stream(t, "10.0.0.9"); conn == nil {
			t.Error("no room after a stream was closed")
		}
	})
}

// TestAcceptsAreBounded: as many streams as the bound are accepted at once, and as many in each
// second after that.
func TestAcceptsAreBounded(t *testing.T) {
	bubble(t, guard.Options{}, func(t *testing.T, b *bench) {
		try := func(n int) (accepted int) {
			for range n {
				if conn, _ := b.stream(t, "10.0.0.9"); conn != nil {
					_ = conn.Close()
					accepted++
				}
			}
			return accepted
		}
		if got := try(guard.MaxAccepts + 10); got != guard.MaxAccepts ||
			b.traffic.Dropped.Of(guard.Accepts) != 10 {
			t.Errorf("%d accepted at once, %d dropped; want %d and 10", got,
				b.traffic.Dropped.Of(guard.Accepts), guard.MaxAccepts)
		}
		time.Sleep(500 * time.Millisecond)
		if got := try(guard.MaxAccepts); got != guard.MaxAccepts/2 {
			t.Errorf("%d accepted half a second later, want %d", got, guard.MaxAccepts/2)
		}
		time.Sleep(time.Hour)
		if got := try(2 * guard.MaxAccepts); got != guard.MaxAccepts {
			t.Errorf("%d accepted an hour later, want %d", got, guard.MaxAccepts)
		}
	})
}

// TestStreamIsChecked: one message of a member passes unchanged, and nothing of any other stream
// does.
func TestStreamIsChecked(t *testing.T) {
	ours := guardtest.Stream(t, key(1), guardtest.PushPull(0, 3, []byte("\x01\x03x")))
	long := append(bytes.Clone(ours[:7]), 0, 0x10, 0, 1)
	for _, c := range []struct {
		name, want string // the error, "" passes
		sent       []byte
	}{
		{"good", "", ours},
		{"with more behind it", "", append(bytes.Clone(ours), "more"...)},
		{"cut off", io.ErrUnexpectedEOF.Error(), ours[:len(ours)-1]},
		{"nothing", "EOF", nil},
		{"another label", "another cluster", append([]byte("\xf4\x04text"), ours[6:]...)},
		{"no label", "another cluster", ours[6:]},
		{"plain", "not encrypted", append(ours[:6:6], guardtest.PushPull(0, 0, nil)...)},
		{"too long", "longer than", long},
		{
			"another key", "one of our keys",
			guardtest.Stream(t, key(3), guardtest.PushPull(0, 0, nil)),
		},
		{"compressed", "compressed", guardtest.Stream(t, key(1), guardtest.Bomb(t, 1000))},
		{"empty", "empty", guardtest.Stream(t, key(1), nil)},
		{
			"user message", "another kind",
			guardtest.Stream(t, key(1),
				append([]byte{8, 0x81, 0xaa}, "UserMsgLen\xce\x01\x40\x00\x00"...)),
		},
		{
			"members that are not there", "another kind",
			guardtest.Stream(t, key(1), guardtest.PushPull(1, 0, nil)),
		},
		{
			"too many members", "another kind",
			guardtest.Stream(t, key(1),
				guardtest.PushPull(6000, 0, bytes.Repeat([]byte{0x80}, 6000))),
		},
		{
			"too much state", "another kind",
			guardtest.Stream(t, key(1), guardtest.PushPull(0, 258<<10+1, make([]byte, 258<<10+1))),
		},
	} {
		bubble(t, guard.Options{Label: guardtest.Label}, func(t *testing.T, b *bench) {
			conn, peer := b.stream(t, "10.0.0.1")
			go func() {
				_, _ = peer.Write(c.sent)
				_ = peer.Close()
			}()
			got, err := io.ReadAll(conn)
			_ = conn.Close()
			switch {
			case c.want == "" && (err != nil || !bytes.Equal(got, ours)):
				t.Errorf("%s: %d of %d bytes, %v", c.name, len(got), len(c.sent), err)
			case c.name == "nothing":
				if err != nil || len(got) > 0 {
					t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
				}
			case c.want != "" &&
				(len(got) > 0 || err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %d bytes, %v; want %q", c.name, len(got), err, c.want)
			}
		})
	}
}

// readLarge reads the large message that peer sends, and returns a channel with the error.
func readLarge(conn, peer net.Conn, message []byte) <-chan error {
	go func() { _, _ = peer.Write(message) }()
	done := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(conn, make([]byte, len(message)))
		done <- err
	}()
	synctest.Wait()
	return done
}

// TestLargeStreamsWait: two large messages are read at once, from two addresses; others wait for a
// place. Messages of dialled streams have places of their own.
func TestLargeStreamsWait(t *testing.T) {
	exchange := guardtest.PushPull(0, 200<<10, make([]byte, 200<<10))
	large, answer := guardtest.Stream(t, key(1), exchange), guardtest.Answer(t, key(1), exchange)
	bubble(t, guard.Options{Label: guardtest.Label}, func(t *testing.T, b *bench) {
		at := func(host string) (net.Conn, <-chan error) {
			conn, peer := b.stream(t, host)
			return conn, readLarge(conn, peer, large)
		}
		var theirs net.Conn
		b.below.dial = func() (ours net.Conn) {
			ours, theirs = net.Pipe()
			return from{
				ours,
				"10.0.0.1",
			}
		}
		first, one := at("10.0.0.1")
		second, two := at("10.0.0.2")
		dialled, err := b.DialTimeout("10.0.0.1:1", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _, _ = dialled.Close(), theirs.Close(), first.Close() }()
		for at, done := range []<-chan error{one, two, readLarge(dialled, theirs, answer)} {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("stream %d: %v", at, err)
				}
			default:
				t.Fatalf("stream %d waits", at)
			}
		}
		began := time.Now()
		_, late := at("10.0.0.3")
		if err := <-late; err == nil || !strings.Contains(err.Error(), "too many large") ||
			time.Since(began) != guard.StreamTimeout {
			t.Errorf("a third one after %v: %v", time.Since(began), err)
		}
		_, waiting := at("10.0.0.2")
		_ = first.Close()
		synctest.Wait()
		select {
		case err := <-waiting:
			t.Errorf("two of one address: %v", err)
		default:
		}
		_ = second.Close()
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	})
}

// A peer that accepts and never reads delays a dial until its deadline at most: memberlist writes
// the label before it sets one.
func TestDialHasADeadline(t *testing.T) {
	bubble(t, guard.Options{}, func(t *testing.T, b *bench) {
		b.below.dial = func() net.Conn {
			ours,
				theirs := net.Pipe()
			t.Cleanup(func() { _ = theirs.Close() })
			return ours
		}
		conn, err := b.DialTimeout("10.0.0.1:1", 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		var timeout net.Error
		began := time.Now()
		if _, err := conn.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() ||
			time.Since(began) != 50*time.Millisecond {
			t.Errorf("a read from a silent peer: %v after %v, want a timeout", err,
				time.Since(began))
		}
		_ = b.Shutdown()
		if _, err := b.DialTimeout("10.0.0.1:1", time.Second); !errors.Is(err, guard.ErrClosed) {
			t.Errorf("a dial after the end: %v", err)
		}
	})
}
