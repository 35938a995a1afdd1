//go:build !race

package demo

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/minimal"
)

// aRing returns a client of the ring at an address.
func aRing(t *testing.T, at string) *ring.Ring {
	t.Helper()
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	var number uint16
	if _, err := fmt.Sscan(port, &number); err != nil {
		t.Fatal(err)
	}
	r, err := ring.New(ring.Config{
		Servers: []ring.Server{{Host: host, Port: number, Weight: 1}},
		Timeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// exchanges returns the answers that a ring's client receives to a fixed list of operations.
func exchanges(t *testing.T, at string) string {
	t.Helper()
	r := aRing(t, at)
	digest := ring.NewDigester([]byte("secret"))
	var said strings.Builder
	do := func(client string, delta uint64) {
		op := ring.Op{Delta: delta, TTL: 60}
		digest.Key(&op.Key, ring.Counter{Rule: "r", Window: time.Second, Client: []byte(client)})
		r.Do(t.Context(), []ring.Op{op, op})
		ops := []ring.Op{op, op}
		r.Do(t.Context(), ops)
		fmt.Fprintln(&said, ops[0].Total, ops[0].Err, ops[1].Total, ops[1].Err)
	}
	do("a", 0)
	do("a", 5)
	do("a", 0)
	do("b", 1<<63)
	for range 2000 {
		do("c", 1)
	}
	fmt.Fprintln(&said, r.Stats()[0].Protocol)
	return said.String()
}

// To the ring's own client the stand-in for memcached answers as memcached does.
func TestStandInIsAMemcached(t *testing.T) {
	s, err := minimal.Open(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	got := exchanges(t, s.Addr().String())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	real, err := openRing(t.Context(), clitest.ProgramPath(t, "memcached"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := real.Close(); err != nil {
			t.Error(err)
		}
	}()
	if !strings.HasPrefix(real.Kind, "memcached 1.") {
		t.Fatalf("not memcached but %s", real)
	}
	if want := exchanges(t, real.Address); got != want {
		t.Errorf("the stand-in answers\n%s\nmemcached answers\n%s", got, want)
	}
}
