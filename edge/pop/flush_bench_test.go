package pop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// BenchmarkFlush is one flush of a node with so many keys that each admitted one request since the
// flush before: finding the keys that are due, naming their counters, the exchange, and merging the
// totals. due=0 is the heartbeat alone. The ring answers from memory; ring-ns/op is its part of
// ns/op, the rest is the node's own work.
//
//	go test -run '^$' -bench Flush -count=10 ./edge/pop > new.txt; benchstat old.txt new.txt
func BenchmarkFlush(b *testing.B) {
	for _, keys := range []int{0, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("due=%d", keys), func(b *testing.B) {
			f := newFlushBench(b, keys)
			f.tally.spent = 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				f.ask(1)
				b.StartTimer()
				f.flush()
			}
			b.ReportMetric(float64(f.tally.spent.Nanoseconds())/float64(b.N), "ring-ns/op")
			if f.tally.due < keys || f.tally.due > keys+keys/100+100 { // the heartbeat has a few
				b.Errorf("%d operations in the last flush, want %d", f.tally.due, keys)
			}
		})
	}
}

// BenchmarkFlushKnown is one flush of a node that knows so many keys, each with two of five units
// used in 10 s, of which a sixtieth is asked for in between. The others are read when they can
// matter.
func BenchmarkFlushKnown(b *testing.B) {
	const keys = 10_000
	f := newFlushBenchOf(b, keys, 5, 10*time.Second, 2)
	f.tally.spent = 0
	looks := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		f.askEvery(60)
		b.StartTimer()
		f.flush()
		looks += f.tally.due
	}
	b.ReportMetric(float64(f.tally.spent.Nanoseconds())/float64(b.N), "ring-ns/op")
	b.ReportMetric(float64(looks)/float64(b.N), "exchanges/op")
}

// flushBench is a node on virtual time, and the keys that it is asked for.
type flushBench struct {
	gate    *gate.Gate
	flusher *pop.Flusher
	tally   *timedTally
	now     window.Instant
	keys    []string
	turn    int // of askEvery
}

// newFlushBench returns a node that counts together with its PoP and has a slot for each of so many
// keys. Its rule's window is an hour, so that no counter is replaced while the benchmark runs, and
// its limit is far off, so that no key is refused.
func newFlushBench(b *testing.B, keys int) *flushBench {
	b.Helper()
	return newFlushBenchOf(b, keys, benchLimit, time.Hour, benchLimit/2)
}

// newFlushBenchOf is newFlushBench with a limit, its window and what of it each key has used.
func newFlushBenchOf(
	b *testing.B, keys int, limit int64, length time.Duration, used uint32,
) *flushBench {
	b.Helper()
	servers := ringtest.Servers()
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		b.Fatal(err)
	}
	began := time.Unix(1_700_000_000, 0)
	f := &flushBench{
		tally: &timedTally{Memory: ringtest.NewMemory(len(servers))},
		now:   window.Instant(began.UnixNano()),
	}
	f.gate = gate.New(gate.Options{
		Node: "a", Memory: 64 << 20, Rules: []mitigation.Rule{poptest.Rule(limit, length)},
		Flush: poptest.Every, Servers: len(servers), Start: began,
	})
	f.flusher = pop.New(f.gate, pop.Options{
		Tally: f.tally, Placement: placement,
		Secret: []byte("s"), Every: poptest.Every,
	})
	for n := range keys {
		f.keys = append(f.keys, fmt.Sprintf("203.0.113.%d", n))
	}
	for range 100 { // the heartbeat of the first seconds, and the first counts
		f.flush()
	}
	f.ask(used) // enough for a slot
	for range 3 {
		f.flush()
	}
	return f
}

// benchLimit is the rule's limit. A key that used half of it has a slot.
const benchLimit = 1_000_000_000

// ask asks for cost of every key.
func (f *flushBench) ask(cost uint32) {
	lane := f.gate.Lane(0)
	for _, key := range f.keys {
		if d, err := lane.Decide(f.now, 0, gatetest.Ask(gate.Check, "r", key, cost)); err != nil ||
			d.Deny {
			panic(fmt.Sprint(key, " is refused: ", err))
		}
	}
}

// askEvery asks for one unit of every n-th key, other ones each time. What does not fit is refused.
func (f *flushBench) askEvery(n int) {
	lane := f.gate.Lane(0)
	f.turn++
	for k := f.turn % n; k < len(f.keys); k += n {
		// the rule is there
		_, _ = lane.Decide(f.now, 0, gatetest.Ask(gate.Check, "r", f.keys[k], 1))
	}
}

// flush lets the time between two flushes pass, and flushes.
func (f *flushBench) flush() {
	f.now = f.now.Add(poptest.Every)
	f.flusher.Flush(context.Background(), f.now, time.Unix(0, int64(f.now)))
}

// timedTally is a ring in memory that notes its operations and the time that it takes.
type timedTally struct {
	*ringtest.Memory
	due   int           // operations of the last exchange
	spent time.Duration // in all exchanges
}

// Do is Memory's Do.
func (t *timedTally) Do(ctx context.Context, ops []ring.Op) {
	began := time.Now()
	t.Memory.Do(ctx, ops)
	t.due = len(ops)
	t.spent += time.Since(began)
}
