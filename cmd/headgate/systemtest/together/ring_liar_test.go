//go:build !race

package together

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// ringLies are false answers to an operation; the number is that of the operations so far. A server
// uses them in turn, for a while each, so that the breaker's pauses hide none.
var ringLies = []struct {
	name string
	tell func(w io.Writer, number uint64, opaque string) error
}{
	{"2^64-1", value(func(uint64) uint64 { return 1<<64 - 1 })},
	{"a million million more each time", value(func(n uint64) uint64 { return n * 1e12 })},
	{"half of everything", value(func(n uint64) uint64 { return 1<<63 + n<<40 })},
	{"up and down", value(func(n uint64) uint64 { return (n % 2) << 62 })},
	{"any number", value(func(n uint64) uint64 { return n * 0x9e3779b97f4a7c15 })},
	{"garbage", text("\x8f\xf3\x01\xff\x00\x7f\r\n\x99 out of cheese\r\n")},
	{"an endless line", text(strings.Repeat("9", 1<<20))},
	{"1 GiB", text("VA 1073741824 O0\r\n")},
	{"a complaint", text("SERVER_ERROR out of memory\r\n")},
	{"a byte a second", slowly},
}

// value answers with a number, as memcached would.
func value(of func(number uint64) uint64) func(io.Writer, uint64, string) error {
	return func(w io.Writer, number uint64, opaque string) error {
		digits := fmt.Sprint(of(number))
		_, err := fmt.Fprintf(w, "VA %d %s\r\n%s\r\n", len(digits), opaque, digits)
		return err
	}
}

func text(said string) func(io.Writer, uint64, string) error {
	return func(w io.Writer, _ uint64, _ string) error {
		_, err := io.WriteString(w, said)
		return err
	}
}

// slowly answers correctly, but a byte a second.
func slowly(w io.Writer, _ uint64, opaque string) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for _, c := range []byte("VA 1 " + opaque + "\r\n1\r\n") {
		if _, err := w.Write([]byte{c}); err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}

// liar is a server that speaks memcached's meta commands and answers as the test sets.
type liar struct {
	net.Listener
	lie    atomic.Int64 // index of ringLies
	number atomic.Uint64
	told   []atomic.Uint64 // by lie
	conns  sync.Map
	busy   sync.WaitGroup
}

// startLiar runs a liar until the test ends.
func startLiar(t testing.TB) *liar {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{Listener: ln, told: make([]atomic.Uint64, len(ringLies))}
	l.busy.Go(l.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		l.hangUp()
		l.busy.Wait()
	})
	return l
}

// hangUp closes all connections.
func (l *liar) hangUp() {
	l.conns.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		return true
	})
}

func (l *liar) accept() {
	for {
		conn, err := l.Accept()
		if err != nil {
			l.hangUp()
			return
		}
		l.conns.Store(conn, true)
		l.busy.Go(func() {
			defer l.conns.Delete(conn)
			defer conn.Close() //nolint:errcheck // the end of it either way
			_ = l.serve(conn)  // until the daemon has had enough
		})
	}
}

// serve answers the probe as memcached does, and everything else with the present lie.
func (l *liar) serve(conn net.Conn) error {
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "mn" {
			if _, err := io.WriteString(conn, "MN\r\n"); err != nil {
				return err
			}
			continue
		}
		at := l.lie.Load()
		l.told[at].Add(1)
		if err := ringLies[at].tell(conn, l.number.Add(1), words[len(words)-1]); err != nil {
			return err
		}
	}
}

// TestRingLiar has one of three servers give every false answer in turn to nodes with clients that
// keep to their limits.
func TestRingLiar(t *testing.T) {
	t.Parallel()
	servers, liar := startRingServers(t, 2), startLiar(t)
	l := openLab(t, servers, append(systemtest.AddressesOf(servers), liar.Addr().String()))
	systemtest.Hold(t, time.Second)
	before := weigh(t, l.Nodes)
	for n := range ringLies {
		refused := l.refused()
		liar.lie.Store(int64(n))
		systemtest.Hold(t, 900*time.Millisecond)
		t.Logf("%-32s told %4d times, %d wrong refusals", ringLies[n].name, liar.told[n].Load(),
			l.refused()-refused)
	}
	l.Stop()
	l.check("after all lies")
	l.logWaits()
	compareWeights(t, before, weigh(t, l.Nodes))
	if counted := implausible(l.Nodes); counted == 0 {
		t.Error("no node counted an implausible total")
	} else {
		t.Logf("%.0f implausible totals counted", counted)
	}
}

// implausible returns how many totals the nodes did not believe.
func implausible(nodes []*systemtest.Node) (sum float64) {
	for _, n := range nodes {
		for _, v := range n.Metrics("headgate_ring_implausible_total") {
			sum += v
		}
	}
	return sum
}
