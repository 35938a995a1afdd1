package udp

import (
	"net"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"golang.org/x/sys/unix"
)

// TestReaderLooksAgain: a reader that has answered looks a few times more before it is put to
// sleep, no more often, and not at all when it has answered nothing since.
func TestReaderLooksAgain(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := Start(t, g, "127.0.0.1:0", 2)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.DialUDP("udp4", nil,
		&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*unix.SockaddrInet4).Port})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()

	r := newReader(replyBytes)
	for range 2 {
		if _, err := client.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		if !r.await(uintptr(fd)) || r.got != 1 || r.looks != 0 {
			t.Fatalf("%d datagrams, %d looks left", r.got, r.looks)
		}
		raw, err := u.sockets[0].SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := u.turn(0, r, raw, r.out.send); err != nil {
			t.Fatal(err)
		}
		if r.looks != looks {
			t.Fatalf("%d looks after an answer, want %d", r.looks, looks)
		}
		if r.await(uintptr(fd)) || !r.empty || r.looks != 0 {
			t.Fatalf("sleeps with %d looks left", r.looks)
		}
	}
}

// All of a door's sockets are given senders: the first one too, though it was alone on the port at
// first.
func TestUDPReadersShareTheSenders(t *testing.T) {
	t.Parallel()
	const readers, senders = 4, 200
	g := gatetest.New(t, 4<<20, gatetest.Shed)
	u := Start(t, g, "127.0.0.1:0", readers)
	for range senders {
		c := doortest.Dial(t, u.Addr())
		if got := Exchange(t, c, "ping"); !strings.HasPrefix(got, "pong") {
			t.Fatalf("%q", got)
		}
		_ = c.Close()
	}
	for n := range readers {
		if got := u.stats[n].packets.Load(); got < senders/readers/4 {
			t.Errorf("reader %d of %d has %d of %d packets", n, readers, got, senders)
		}
	}
}
