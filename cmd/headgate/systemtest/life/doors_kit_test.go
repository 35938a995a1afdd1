//go:build linux && !race

package life

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// doorsNode is a daemon with all its doors open.
type doorsNode struct {
	*systemtest.Node
	at map[string]string // the addresses of the doors
}

// startAllDoors runs a daemon with all doors until the test ends.
func startAllDoors(t testing.TB) *doorsNode {
	t.Helper()
	return startDoors(t, "")
}

// startDoors is startAllDoors with more in the configuration.
func startDoors(t testing.TB, more string) *doorsNode {
	t.Helper()
	return startDoorsOf(t, floodMemory, more)
}

// startDoorsOf is startDoors with so much memory, in MiB.
func startDoorsOf(t testing.TB, memory int, more string) *doorsNode {
	t.Helper()
	file := filepath.Join(t.TempDir(), "headgate.yaml")
	err := os.WriteFile(file, []byte(
		`listen: {udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0", grpc: "127.0.0.1:0", spop: "127.0.0.1:0", resp: "127.0.0.1:0"}
memory: `+strconv.Itoa(memory)+`MiB
rules: [{name: login, limit: 1000000000, window: 1m}]
`+more,
	),
		0o600,
	)
	if err != nil {
		t.Fatal(err)
	}
	n := &doorsNode{&systemtest.Node{TB: t, ID: "edge"}, map[string]string{}}
	n.Launch(exec.Command(systemtest.Binary(t), "serve", "-c", file))
	t.Cleanup(n.Stop)
	n.AwaitDoors()
	edgetest.Await(t, "all doors are open", edgetest.Patience, func() bool {
		for door, shown := range map[string]string{
			"udp": "datagrams", "http": "HTTP",
			"grpc": "gRPC", "spop": "SPOP", "resp": "RESP",
		} {
			found := regexp.MustCompile("decisions, " +
				"" + shown + ` +(127\.0\.0\.1:\d+)\n`).FindStringSubmatch(n.Said.String())
			if found == nil {
				return false
			}
			n.at[door] = found[1]
		}
		return true
	})
	return n
}

// faultsOf returns how many errors a door has counted, of requests and of connections.
func (n *doorsNode) faultsOf(door string) (sum float64) {
	for name, v := range n.Metrics("headgate_" + door + "_") {
		if strings.Contains(name, "_errors_total") || strings.Contains(name, "_malformed_total") {
			sum += v
		}
	}
	return sum
}

// dialDoor connects to a door.
func dialDoor(door, at string) (net.Conn, error) {
	if door == "udp" {
		return net.Dial("udp", at)
	}
	return net.Dial("tcp", at)
}

// flooded calls use while f goes to its door.
func (n *doorsNode) flooded(f *flood, use func(connections func() uint64)) {
	f.against(n.at[f.door], use)
}

// against calls use while f goes to the door at that address. connections are those that were
// opened.
func (f *flood) against(at string, use func(connections func() uint64)) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var opened atomic.Uint64
	for range max(f.conns, 4) {
		all.Go(func() {
			for ctx.Err() == nil {
				f.connection(ctx, at, &opened)
			}
		})
	}
	use(opened.Load)
	stop()
	all.Wait()
}

// connection sends f on one connection, until that ends or ctx does.
func (f *flood) connection(ctx context.Context, at string, opened *atomic.Uint64) {
	c, err := dialDoor(f.door, at)
	if err != nil {
		return
	}
	opened.Add(1)
	ended := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer ended()
	defer func() { _ = c.Close() }()
	if !f.deaf {
		go func() { _, _ = io.Copy(io.Discard, c) }() // it ends with the connection
	}
	if _, err := io.WriteString(c, f.open); err != nil || f.wave == nil {
		return
	}
	tick := make(<-chan time.Time)
	if f.every > 0 {
		ticker := time.NewTicker(f.every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for n := 0; ; n++ {
		if _, err := io.WriteString(c, f.wave(n)); err != nil && f.door != "udp" {
			return
		}
		switch {
		case ctx.Err() != nil:
			return
		case f.every > 0:
			select {
			case <-ctx.Done():
			case <-tick:
			}
		}
	}
}

// witness is a connection that does nothing wrong.
type witness struct {
	conn  net.Conn
	calls int
	door  string
}

// witness opens one to a door, and asks.
func (n *doorsNode) witness(t testing.TB, door string) *witness {
	t.Helper()
	c, err := dialDoor(door, n.at[door])
	if err != nil {
		t.Fatal(err)
	}
	return greet(t, door, c)
}

// greetings are the first words at the doors that want some.
var greetings = map[string]string{"grpc": h2Open, "spop": spopOpen}

// greet is witness on a connection that is open.
func greet(t testing.TB, door string, c net.Conn) *witness {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	w := &witness{conn: c, door: door}
	if _, err := io.WriteString(c, greetings[door]); err != nil {
		t.Fatal(err)
	}
	w.asks(t)
	return w
}

// newcomer is witness for a client on a machine that is busy with a crowd. Where all places are
// taken, a connection gives way if its first words are late (firstMoment in edge/door/stream), so
// that a client which was kept from running comes again, as clients do.
func (n *doorsNode) newcomer(t testing.TB, door string) *witness {
	t.Helper()
	var err error
	for range 20 {
		var c net.Conn
		if c, err = dialDoor(door, n.at[door]); err != nil {
			continue
		}
		w := &witness{conn: c, door: door}
		if _, err = io.WriteString(c, greetings[door]); err == nil {
			err = w.ask()
		}
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			return w
		}
		_ = c.Close()
	}
	t.Fatalf("%s: a client that does nothing wrong finds no place: %v", door, err)
	return nil
}

// asks fails the test unless the door answers. Datagrams are asked again, for a flood may take
// their place.
func (w *witness) asks(t testing.TB) {
	t.Helper()
	if err := w.ask(); err != nil {
		t.Errorf("%s: a connection that did nothing wrong: %v", w.door, err)
	}
}

// ask asks once, and reads until the answer is there.
func (w *witness) ask() error {
	question, want := httpAsk, `"verdict":"allow"`
	switch w.door {
	case "udp":
		question, want = "check login k\n", "allow"
	case "spop":
		question, want = spopAsk, "\x04deny\x01"
	case "resp":
		question, want = respAsk, "allow"
	case "grpc":
		stream := 2*w.calls + 1
		question = h2Frame(h2Headers, h2EndHeaders, stream, h2Call) + h2Frame(h2Data,
			h2EndStream, stream, h2Message)
		want = "login"
	}
	w.calls++
	b, have := make([]byte, 8<<10), 0
	for again := range 40 {
		if w.door == "udp" || again == 0 {
			if _, err := io.WriteString(w.conn, question); err != nil {
				return err
			}
		}
		for {
			patience := edgetest.Patience
			if w.door == "udp" {
				patience /= 40
			}
			_ = w.conn.SetReadDeadline(time.Now().Add(patience))
			n, err := w.conn.Read(b[have:])
			if have += n; strings.Contains(string(b[:have]), want) {
				return nil
			}
			if err != nil && w.door == "udp" {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return os.ErrDeadlineExceeded
}
