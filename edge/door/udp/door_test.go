package udp_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

func TestUDPSession(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	c := doortest.Dial(t, udp.Start(t, g, "127.0.0.1:0", 2).Addr())
	batch := strings.Repeat("check shed b%20c id=7\n", 40)
	for _, s := range []struct{ request, want string }{
		{"ping", "pong\n"},
		{"check shed 203.0.113.7\n", "allow remaining=2 reset=10 view=node\n"},
		{"check shed 203.0.113.7 cost=2", "allow remaining=0 reset=10 view=node\n"},
		{"check shed 203.0.113.7", "deny why=limit retry=10 view=node remaining=0\n"},
		{"peek shed 203.0.113.7", "deny why=limit retry=10 view=node remaining=0\n"},
		{"peek shed other id=a", "id=a allow remaining=3 reset=0 view=node\n"},
		{
			"count shed other cost=3 unknown=option\npeek shed other",
			"ok\ndeny why=limit retry=10 view=node remaining=0\n",
		},
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
			batch, "id=7 allow remaining=2 reset=10 view=node\nid=7 allow remaining=1 reset=10 " +
				"view=node\n" +
				"id=7 allow remaining=0 reset=10 view=node\n" +
				strings.Repeat("id=7 deny why=limit retry=10 view=node remaining=0\n", 37),
		},
	} {
		if got := udp.Exchange(t, c, s.request); got != s.want {
			t.Errorf("%.60q:\n got %q\nwant %q", s.request, got, s.want)
		}
	}
}

// TestMalformedIsNotCounted: a line answered with an error leaves no trace in any count.
func TestMalformedIsNotCounted(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := udp.Start(t, g, "127.0.0.1:0", 2)
	c := doortest.Dial(t, u.Addr())
	for _, bad := range []string{
		"check shed k cost=x", "check shed k id=", "check  shed k", "chek shed k",
		"check shed k ", "check shed a\tb",
		strings.Repeat("check shed k\n", 65), "check shed k" + strings.Repeat(" o=1", 3000),
	} {
		if got := udp.Exchange(t, c, bad); !strings.HasPrefix(got, "error ") {
			t.Errorf("%.40q: %q", bad, got)
		}
	}
	if got := udp.Exchange(t, c, "peek shed k"); got != "allow remaining=3 reset=0 view=node\n" {
		t.Errorf("something was counted: %q", got)
	}
	if s := u.Stats(); s.Malformed != 6 || s.TooLong != 2 || s.Packets != 9 {
		t.Errorf("%+v", s)
	}
	if f, _, ok := g.Observation("shed"); !ok || f.Totals.Offered() != 0 {
		t.Errorf("%d offered", f.Totals.Offered())
	}
}

func TestUnixDatagrams(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "udp.sock")
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := udp.Start(t, g, "unix:"+path, 2)
	c, err := net.DialUnix("unixgram",
		&net.UnixAddr{Name: filepath.Join(dir, "me"), Net: "unixgram"},
		&net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if got := udp.Exchange(t, c, "check shed k"); got != "allow remaining=2 reset=10 view=node\n" {
		t.Errorf("%q", got)
	}
	nameless, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nameless.Close() }()
	_, _ = nameless.Write([]byte("count shed k"))
	if got := udp.Exchange(t, c, "peek shed k"); got != "allow remaining=1 reset=10 view=node\n" {
		t.Errorf("a client without a name is counted: %q", got)
	}
	if s := u.Stats(); s.Unanswered != 1 {
		t.Errorf("%+v", s)
	}
}

// TestStopAnswersWhatArrived sends a volley, stops the door at once and counts the answers.
func TestStopAnswersWhatArrived(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	at, _ := config.ParseAddress("127.0.0.1:0")
	u, err := udp.Listen(t.Context(), g, nil, at, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := doortest.Dial(t, u.Addr())
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
		_ = c.SetReadDeadline(time.Now().Add(doortest.Patience))
		if _, err := c.Read(reply); err != nil {
			t.Fatalf("answer %d of %d: %v", n, volley, err)
		}
	}
}
