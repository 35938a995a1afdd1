package pop

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestNamesAreTheDigests: whatever the table of names holds, displaces and forgets, an operation
// goes to the counter that the digest names, on the server that holds it.
func TestNamesAreTheDigests(t *testing.T) {
	t.Parallel()
	p := namer(t)
	for flush := range 6 {
		if flush == 4 {
			p.digest = ring.NewDigester([]byte("another secret"))
			p.names.clear()
		}
		p.ops = p.ops[:0]
		p.address()
		for n := range p.dues {
			d, op := &p.dues[n], &p.ops[n]
			var want ring.Key
			p.digest.Key(&want, ring.Counter{
				Rule: d.Rule, Variant: d.Variant, Window: d.Window, Client: d.Key, Period: uint64(d.Period),
			})
			if op.Key != want || op.Server != p.options.Placement.Pick(want[:]) {
				t.Fatalf("flush %d: %s period %d is sent to %s on %d", flush, d.Key, d.Period, op.Key, op.Server)
			}
			d.Period += uint32(n+flush) % 3 / 2 // some go on to the next period
		}
	}
	if len(p.names.all) > mostNames {
		t.Errorf("%d names", len(p.names.all))
	}
}

// TestNamesAreKept: a flush like the one before works out next to no names.
func TestNamesAreKept(t *testing.T) {
	t.Parallel()
	p := namer(t)
	p.dues = p.dues[:mostNames/4]
	p.address()
	unknown := 0
	for n := range p.dues {
		if _, known := p.names.find(&p.dues[n]); !known {
			unknown++
		}
	}
	if unknown > len(p.dues)/20 {
		t.Errorf("%d of %d are not known", unknown, len(p.dues))
	}
}

// namer returns a flusher that holds the dues of more keys than the table of names has room for.
func namer(t *testing.T) *Flusher {
	t.Helper()
	servers := []ring.Server{{Host: "192.0.2.1", Port: 11211, Weight: 1}, {Host: "192.0.2.2", Port: 11211, Weight: 1}}
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		t.Fatal(err)
	}
	const every = 100 * time.Millisecond
	g := gate.New(gate.Options{
		Memory: 64 << 20, Flush: every, Servers: len(servers), Start: time.Now(),
		Rules: []mitigation.Rule{{Name: "r", Limit: 100, Window: 10 * time.Second, Scope: mitigation.PoP}},
	})
	now := g.Now()
	for n := range mostNames {
		ask := gate.Ask{Rule: []byte("r"), Key: fmt.Appendf(nil, "client-%d", n), Cost: 1}
		if _, err := g.Lane(0).Decide(now, 0, ask); err != nil {
			t.Fatal(err)
		}
	}
	p := New(g, Options{Placement: placement, Every: every})
	f := window.Flush{Now: now, Interval: every, Nodes: 1, Room: 2 * mostNames, Down: func(int) bool { return false }}
	p.dues, p.keys = g.Collect(f, nil, nil)
	if len(p.dues) < mostNames/2 {
		t.Fatalf("%d dues", len(p.dues))
	}
	return p
}
