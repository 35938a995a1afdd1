package door_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/latency"
)

// TestLatencyOfDoors: either door times one batch in LatencyEvery, and the sum of both holds them
// all.
func TestLatencyOfDoors(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	datagrams, web := startUDP(t, g), http.New(g, nil, g.Lane(0))
	addr, _ := serve(t, web, config.Address{Host: "127.0.0.1"})
	c := doortest.Dial(t, datagrams.Addr())
	// a batch is timed when it is answered: the next answer says that it was
	for range 3*door.LatencyEvery + 1 {
		exchange(t, c, "check shed k")
	}
	stream := doortest.Dial(t, addr)
	in := bufio.NewReader(stream)
	for range 2 * door.LatencyEvery {
		if _, err := io.WriteString(stream, "GET /v1/check?rule=shed&key=k HTTP/1.1\r\nHost: "+
			"h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		doortest.ReadReply(t, in)
	}
	for _, tt := range []struct {
		name string
		add  []func(*latency.Sum)
		want uint64
	}{
		{"datagrams", []func(*latency.Sum){datagrams.AddLatency}, 3},
		{"HTTP", []func(*latency.Sum){web.AddLatency}, 2},
		{"both", []func(*latency.Sum){datagrams.AddLatency, web.AddLatency}, 5},
	} {
		var sum latency.Sum
		for _, add := range tt.add {
			add(&sum)
		}
		if count, _, _ := sum.Cumulative(); count != tt.want {
			t.Errorf("%s: %d batches timed, want %d", tt.name, count, tt.want)
		}
	}
}

// startUDP serves g on a loopback port until the test ends.
func startUDP(t *testing.T, g *gate.Gate) *udp.Door {
	t.Helper()
	u, err := udp.Listen(t.Context(), g, nil, config.Address{Host: "127.0.0.1"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- u.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return u
}

// exchange sends one datagram and waits for its answer.
func exchange(t *testing.T, c net.Conn, request string) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 512)); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkLatencyNote(b *testing.B) {
	var l latency.Histogram
	for b.Loop() {
		l.Note(30 * time.Microsecond)
	}
}
