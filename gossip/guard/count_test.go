package guard_test

import (
	"sync"
	"testing"

	"github.com/headgate-dev/headgate/gossip/guard"
)

func TestMeter(t *testing.T) {
	var m guard.Meter
	m.Came(100)
	m.Came(0) // a stream that has begun, whose bytes follow
	m.Read(30)
	m.Went(7)
	m.Wrote(1)
	m.Wrote(1)
	if got, want := m.Flow(), (guard.Flow{In: 2, Out: 1, InBytes: 130, OutBytes: 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Metrics use the names as labels: each is there before the first drop, is no other's, and is of
// a-z and _.
func TestReasonsHaveNames(t *testing.T) {
	var d guard.Drops
	d.Add(guard.Compressed)
	d.Add(guard.Oversize)
	d.Add(guard.Oversize)
	names := d.ByName()
	if len(names) != int(guard.Reasons) {
		t.Errorf("%d names for %d reasons", len(names), guard.Reasons)
	}
	for r := range guard.Reasons {
		want := map[guard.Reason]uint64{guard.Oversize: 2, guard.Compressed: 1}[r]
		if got, ok := names[r.String()]; !ok || got != want || d.Of(r) != want {
			t.Errorf("%s: %d by name, %d by reason, want %d", r, got, d.Of(r), want)
		}
		for _, c := range r.String() {
			if c != '_' && (c < 'a' || c > 'z') {
				t.Errorf("reason %d has the name %q", r, r.String())
			}
		}
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
	if got := guard.Reasons.String(); got != "unknown" {
		t.Errorf("a value that is no reason has the name %q", got)
	}
}

// Sockets and the guard count from several goroutines; no item is lost. The race detector sees a
// counter that is not atomic.
func TestTrafficIsCountedConcurrently(t *testing.T) {
	const workers, each = 4, 1000
	var traffic guard.Traffic
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				traffic.Datagrams.Came(2)
				traffic.Streams.Went(3)
				traffic.Dropped.Add(guard.Key)
			}
		})
	}
	wg.Wait()
	const n = workers * each
	in, out := traffic.Datagrams.Flow(), traffic.Streams.Flow()
	if in != (guard.Flow{In: n, InBytes: 2 * n}) || out != (guard.Flow{Out: n, OutBytes: 3 * n}) ||
		traffic.Dropped.Of(guard.Key) != n {
		t.Errorf("datagrams %+v, streams %+v, %d drops, want %d each", in, out,
			traffic.Dropped.Of(guard.Key), n)
	}
}
