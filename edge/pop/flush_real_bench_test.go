package pop_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// BenchmarkFlushMemcached is one flush of 10,000 keys that a node looks up in a real memcached:
// they use 4 of 5 per 10 s, and others may use the last one, so that each flush asks for nearly all
// of them, and adds one unit to a 25th. cpu-ms/op is the processor time of the node's flush, which
// other work on the machine lengthens less than ns/op; memcached's own comes beside it.
//
//	go test -run '^$' -bench FlushMemcached -count=6 -cpuprofile /tmp/flush.prof ./edge/pop
func BenchmarkFlushMemcached(b *testing.B) {
	f := newRealFlush(b, 10_000)
	f.counted.ops = 0
	used := time.Duration(0)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		f.askEvery(keptOf)
		before := processorTime(b)
		b.StartTimer()
		f.flush()
		used += processorTime(b) - before
	}
	b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(f.counted.ops)/float64(b.N), "exchanges/op")
}

// keptOf is how many flushes lie between two requests of a key: 4 of them are in 10 s.
const keptOf = 25

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// realFlush is a node on virtual time whose ring is a memcached.
type realFlush struct {
	flushBench
	counted *countedTally
}

// countedTally counts the operations of a ring.
type countedTally struct {
	*ring.Ring
	ops int
}

// Do is the ring's Do.
func (t *countedTally) Do(ctx context.Context, ops []ring.Op) {
	t.ops += len(ops)
	t.Ring.Do(ctx, ops)
}

// newRealFlush returns a node with so many keys that used 4 of 5.
func newRealFlush(b *testing.B, keys int) *realFlush {
	b.Helper()
	r, placement := realRing(b, startMemcached(b))
	began := time.Now()
	f := &realFlush{counted: &countedTally{Ring: r}}
	f.now = window.Instant(began.UnixNano())
	f.gate = gate.New(gate.Options{
		Node: "a", Memory: 64 << 20, Rules: []mitigation.Rule{poptest.Rule(5, 10*time.Second)},
		Flush: poptest.Every, Servers: 1, Start: began,
	})
	f.flusher = pop.New(f.gate, pop.Options{
		Tally: f.counted, Placement: placement,
		Secret: []byte("s"), Every: poptest.Every,
	})
	for n := range keys {
		f.keys = append(f.keys, fmt.Sprintf("203.0.113.%d", n))
	}
	for range 5 * keptOf {
		f.askEvery(keptOf)
		f.flush()
	}
	return f
}

// realRing returns a ring of a server.
func realRing(b testing.TB, servers ...ring.Server) (*ring.Ring, *ring.Placement) {
	b.Helper()
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		b.Fatal(err)
	}
	r, err := ring.New(ring.Config{Servers: servers, Timeout: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	return r, placement
}

// startMemcached runs memcached on a free port until the test ends.
func startMemcached(b testing.TB) ring.Server {
	b.Helper()
	if _, err := exec.LookPath("memcached"); err != nil {
		b.Skip("memcached is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	// a port
	s := ring.Server{Host: "127.0.0.1", Port: uint16(l.Addr().(*net.TCPAddr).Port), Weight: 1}
	_ = l.Close()
	cmd := exec.Command("memcached", "-l", s.Host, "-p", fmt.Sprint(s.Port), "-U", "0", "-m",
		"64", "-u", "nobody")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed
	})
	network, address := s.Network()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if c, err := net.Dial(network, address); err == nil {
			_ = c.Close()
			return s
		}
	}
	b.Fatal("memcached does not listen")
	return s
}
