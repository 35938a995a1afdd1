package pop

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Whatever the table holds, displaces and forgets, a counter has the name that the digest gives it,
// on the server that holds it.
func TestNamesAreTheDigests(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	place, due, digest := placement(t), dues(t), ring.NewDigester([]byte("secret"))
	table := newNameTable([]byte("secret"), place)
	for flush := range 6 {
		if flush == 4 {
			table.Rekey([]byte("another"))
			digest = ring.NewDigester([]byte("another"))
		}
		table.Reserve(len(due))
		for n := range due {
			d := &due[n]
			var want ring.Key
			digest.Key(&want, ring.Counter{
				Rule: d.Rule, Variant: d.Variant, Window: d.Window, Client: d.Key,
				Period: uint64(d.Period),
			})
			if key, server := table.Of(d); *key != want || server != place.Pick(want[:]) {
				t.Fatalf("flush %d: the counter of %s in period %d is %s on %d", flush, d.Key,
					d.Period, key, server)
			}
			d.Period += uint32(n+flush) % 3 / 2 // some go on to the next period
		}
	}
}

// A flush like the one before works out next to no names; one beyond the table's bound works out
// those that found no room.
func TestNamesAreKept(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	all := dues(t)
	for counters, most := range map[int]int{
		100: 12, mostNames / 8: mostNames / 8 / 50,
		mostNames / 4: mostNames / 4 / 20,
	} {
		table := newNameTable(nil, placement(t))
		flush := func() uint64 {
			before := table.computed
			table.Reserve(counters)
			for n := range all[:counters] {
				table.Of(&all[n])
			}
			return table.computed - before
		}
		if got := flush(); got != uint64(counters) {
			t.Errorf("%d counters: %d names worked out at first", counters, got)
		}
		if got := flush(); got > uint64(most) {
			t.Errorf("%d counters: %d names worked out again", counters, got)
		}
	}
}

func placement(t *testing.T) *ring.Placement {
	t.Helper()
	p, err := ring.NewPlacement([]ring.Server{
		{Host: "192.0.2.1", Port: 11211, Weight: 1},
		{Host: "192.0.2.2", Port: 11211, Weight: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// dues returns the exchanges of as many keys as the table has places.
func dues(t *testing.T) []window.Due {
	t.Helper()
	const every = 100 * time.Millisecond
	c, now := window.NewSharedCounter(64<<20, every), window.Instant(time.Hour)
	c.Configure([]window.Limit{{Name: "r", Limit: 100, Window: 10 * time.Second, Shared: true}})
	m := c.Meter("r")
	for n := range mostNames {
		key := fmt.Appendf(nil, "client-%d", n)
		m.Admit(now, m.Offer(now, m.Index(key), key, 1, 0), 1)
	}
	f := window.Flush{
		Now: now, Interval: every, Nodes: 1, Room: 2 * mostNames,
		Down: func(int) bool { return false },
	}
	all, _ := c.Collect(f, nil, nil)
	if len(all) < mostNames/2 {
		t.Fatalf("%d dues", len(all))
	}
	return all
}
