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

// BenchmarkFlushMemcached is one flush of 10,000 keys that a node looks up in a real memcached: they used 3
// of 5 per 10 s, and others may use the rest. cpu-ms/op is the processor time of the node, which other
// work on the machine lengthens less than ns/op; memcached's own comes beside it.
//
//	go test -run '^$' -bench FlushMemcached -count=6 -cpuprofile /tmp/flush.prof ./edge/pop
func BenchmarkFlushMemcached(b *testing.B) {
	f := newRealFlush(b, 10_000)
	f.counted.ops = 0
	before := processorTime(b)
	b.ReportAllocs()
	for b.Loop() {
		f.flush()
	}
	b.ReportMetric((processorTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(f.counted.ops)/float64(b.N), "ops/flush")
}

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

// newRealFlush returns a node with so many keys that used 3 of 5.
func newRealFlush(b *testing.B, keys int) *realFlush {
	b.Helper()
	servers := []ring.Server{startMemcached(b)}
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		b.Fatal(err)
	}
	r, err := ring.New(ring.Config{Servers: servers, Timeout: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	began := time.Now()
	f := &realFlush{counted: &countedTally{Ring: r}}
	f.now = window.Instant(began.UnixNano())
	f.gate = gate.New(gate.Options{
		Node: "a", Memory: 64 << 20, Rules: []mitigation.Rule{poptest.Rule(5, 10*time.Second)}, Flush: poptest.Every, Servers: 1, Start: began,
	})
	f.flusher = pop.New(f.gate, pop.Options{Tally: f.counted, Placement: placement, Secret: []byte("s"), Every: poptest.Every})
	for n := range keys {
		f.keys = append(f.keys, fmt.Sprintf("203.0.113.%d", n))
	}
	for range 20 {
		f.flush()
	}
	for range 3 {
		f.ask(1)
		f.flush()
	}
	return f
}

// startMemcached runs memcached on a free port until the benchmark ends.
func startMemcached(b *testing.B) ring.Server {
	b.Helper()
	if _, err := exec.LookPath("memcached"); err != nil {
		b.Skip("memcached is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := ring.Server{Host: "127.0.0.1", Port: uint16(l.Addr().(*net.TCPAddr).Port), Weight: 1} // a port
	_ = l.Close()
	cmd := exec.Command("memcached", "-l", s.Host, "-p", fmt.Sprint(s.Port), "-U", "0", "-m", "64", "-u", "nobody")
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
