//go:build !race

package life

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// unfinished are clients that each begin a request which takes memory, and never end it; and
// clients that read no answer. So many of each connect as a door takes.
func unfinished() []flood {
	half := func(stream int) string { // of a message of 60,000 bytes
		return h2Frame(h2Headers, h2EndHeaders, stream, h2Call) + h2Frame(h2Data, 0, stream,
			"\x00\x00\x00\xea\x60"+strings.Repeat("\x0a", 16000)) +
			h2Frame(h2Data, 0, stream, strings.Repeat("\x0a", 16000))
	}
	shut := preface + h2Frame(h2Settings, 0, 0, "\x00\x04\x00\x00\x00\x00") // windows of 0 bytes
	asks := ""
	for stream := 1; stream < 800; stream += 2 {
		asks += h2Frame(h2Headers, h2EndHeaders, stream, h2Call) + h2Frame(h2Data,
			h2EndStream, stream, h2Message)
	}
	return []flood{
		{
			door: "grpc", name: "half messages", conns: 100,
			open: h2Open + half(1) + half(3) + half(5) + half(7),
		},
		{
			door: "grpc", name: "half heads", conns: 50,
			open: h2Open + h2Frame(h2Headers, 0, 1,
				strings.Repeat("\x83", 16000)) + h2Frame(h2Continuation, 0, 1,
				strings.Repeat("\x83", 16000)) + h2Frame(h2Continuation, 0, 1,
				strings.Repeat("\x83", 16000)),
		},
		{door: "grpc", name: "no window", conns: 106, open: shut + asks},
		{
			door: "spop", name: "half frames", conns: 500,
			open: spopOpen + string(binary.BigEndian.AppendUint32(nil, 16000)) + strings.Repeat("x",
				15900),
		},
		{
			door: "spop", name: "unread answers", conns: 524, deaf: true, open: spopOpen,
			wave: repeated(strings.Repeat(spopAsk, 300)),
		},
		{
			door: "resp", name: "half commands", conns: 700,
			open: "*2\r\n$4\r\nPING\r\n$60000\r\n" + strings.Repeat("x", 59000),
		},
		{
			door: "resp", name: "unread answers", conns: 324, deaf: true,
			wave: repeated(strings.Repeat(respAsk, 300)),
		},
		{door: "http", name: "half bodies", conns: 3000, open: "POST /v1/check HTTP/1.1\r\nHost: " +
			"h\r\nContent-Type: application/json\r\nContent-Length: " +
			"900000\r\n\r\n" + strings.Repeat(" ", 30000)},
		{
			door: "http", name: "half heads", conns: 1000,
			open: "GET /v1/check?rule=login&key=k HTTP/1.1\r\nHost: h\r\nX-A: " +
				strings.Repeat("x", 7000),
		},
	}
}

// TestMemoryOfDoors: at rest, with every listener open, a daemon stays within `memory` and 64 MiB;
// and with every door full of clients that end no request and read no answer within `memory` and
// 128 MiB. It serves who asks in between.
func TestMemoryOfDoors(t *testing.T) {
	const atRest, flooded = 64, 128
	for _, memory := range []int{64, 16}[:edgetest.Rounds(1, 2)] {
		t.Run(fmt.Sprintf("%dMiB", memory), func(t *testing.T) {
			n := startDoorsOf(t, memory, "")
			if rest := n.MostResident(); rest > memory+atRest {
				t.Errorf("%d MiB resident at rest", rest)
			}
			ctx, stop := context.WithCancel(t.Context())
			var clients sync.WaitGroup
			for _, f := range unfinished() {
				for range f.conns {
					clients.Go(func() { f.hold(ctx, n.at[f.door]) })
				}
			}
			asked, end := 0, time.Now().Add(time.Duration(edgetest.Rounds(2, 5))*time.Second)
			for ; time.Now().Before(end); asked++ {
				for _, door := range []string{"grpc", "spop", "resp", "http", "udp"} {
					w := n.newcomer(t, door)
					w.asks(t)
					_ = w.conn.Close()
				}
			}
			most := n.MostResident()
			stop()
			clients.Wait()
			refused := n.Metrics("headgate_door_refused_total")["headgate_door_refused_total"]
			t.Logf("%d MiB resident at most; %d rounds of questions were answered, and %v "+
				"requests for memory were not", most, asked, refused)
			if most > memory+flooded || refused == 0 {
				t.Errorf("%d MiB resident at most, with memory %d MiB; %v requests for memory "+
					"were rejected", most, memory, refused)
			}
			systemtest.Await(t, "all that was lent is given back",
				func() bool { return n.Metrics("headgate_door_bytes")["headgate_door_bytes"] == 0 })
		})
	}
}

// elsewhere connects from an address that is not that of the witnesses.
var elsewhere = net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}

// hold begins f and keeps its connection until ctx ends. Where the door ends it, f begins again a
// second later.
func (f *flood) hold(ctx context.Context, at string) {
	for ctx.Err() == nil {
		f.begin(ctx, at)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// begin opens a connection, and returns when the door has ended it, or ctx has.
func (f *flood) begin(ctx context.Context, at string) {
	c, err := elsewhere.DialContext(ctx, "tcp", at)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, f.open)
	for n := 0; f.wave != nil && err == nil; n++ {
		_, err = io.WriteString(c, f.wave(n))
	}
	if err == nil {
		_, _ = io.Copy(io.Discard, c)
	}
}
