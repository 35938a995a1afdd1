package udp

import (
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

func TestStalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		before, now Life
		want        string
	}{
		{"all turn", Life{1, []uint64{2, 3}}, Life{2, []uint64{4, 5}}, ""},
		{"readers wait", Life{1, []uint64{0, 4}}, Life{2, []uint64{0, 4}}, ""},
		{
			"one answers for long",
			Life{1, []uint64{2, 3}},
			Life{2, []uint64{4, 3}},
			"reader 1 of datagram door 0",
		},
		{
			"a second door's",
			Life{1, append(make([]uint64, gate.Lanes), 1)},
			Life{2, append(make([]uint64, gate.Lanes), 1)},
			"reader 0 of datagram door 1",
		},
		{"the loop stands", Life{7, []uint64{2}}, Life{7, []uint64{4}}, "the control loop"},
		{"nothing but the loop", Life{7, nil}, Life{8, nil}, ""},
	} {
		if got := c.now.Stalled(c.before); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// stuckConn is a socket whose answers go nowhere until it is let go.
type stuckConn struct {
	syscall.RawConn
	stuck, letGo chan struct{}
}

// Control is where a reader answers.
func (c stuckConn) Control(func(uintptr)) error {
	close(c.stuck)
	<-c.letGo
	return nil
}

// A real node's life: its loop turns, its readers wait, and one of them gets stuck with an answer.
func TestLifeOfANode(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 1<<20)
	u, err := Listen(t.Context(), g, nil, config.Address{Host: "127.0.0.1"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close() //nolint:errcheck // nothing is asked of it
	before := Look(g.Turns(), u)
	if got := Look(g.Turns(), u).Stalled(before); got != "the control loop" {
		t.Errorf("without Run: %q", got)
	}
	g.Turn(1, g.Now(), time.Now())
	if got := Look(g.Turns(), u).Stalled(before); got != "" {
		t.Errorf("after a turn: %q", got)
	}
	conn := stuckConn{stuck: make(chan struct{}), letGo: make(chan struct{})}
	ended := make(chan error)
	go func() { ended <- stuckTurn(u, conn) }()
	<-conn.stuck
	before = Look(g.Turns(), u)
	g.Turn(2, g.Now(), time.Now())
	if got := Look(g.Turns(), u).Stalled(before); got != "reader 1 of datagram door 0" {
		t.Errorf("stuck: %q", got)
	}
	close(conn.letGo)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	g.Turn(3, g.Now(), time.Now())
	if got := Look(g.Turns(), u).Stalled(before); got != "" {
		t.Errorf("no more stuck: %q", got)
	}
}

// stuckTurn is reader 1's turn with a batch of one ping, over conn.
func stuckTurn(u *Door, conn stuckConn) error {
	r := newReader(replyBytes)
	r.got, r.in[0].n = 1, uint32(copy(r.packets[0][:], "ping\n"))
	r.in[0].header.Namelen = 16 // a sender with an address
	return u.turn(1, r, conn, func(uintptr) {})
}
