package window

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// reborn is the first of two nodes of a PoP, which ends and starts again.
type reborn struct {
	*pop
	limit Limit
	*Meter
}

// reborns returns, for a small and a large limit, a PoP whose first node ended after a client had
// used 13 of 20 parts of its limit over both nodes, and what the node kept. The node that comes
// next has been given nothing yet.
func reborns(t *testing.T, f func(r *reborn, cost int64, k Snapshot)) {
	t.Helper()
	for _, limit := range []int64{20, 5000} {
		l := Limit{Name: "r", Limit: limit, Window: 10 * time.Second}
		r := &reborn{pop: newPop(2, l), limit: l}
		cost := limit / 20
		for n := range 13 { // the last by the node that is to end: it hears when it tells
			r.until(r.now.Add(200 * time.Millisecond))
			ask(r.nodes[n%2].Meter("r"), r.now, "k", cost)
		}
		r.until(r.now.Add(time.Second))
		was := r.nodes[0].Meter("r")
		k := was.Snapshot(r.now, was.Index([]byte("k")), nil, 64)
		if total := used(was, r.now, "k"); total != 13*cost {
			t.Fatalf("limit %d: %d used by both, want %d", limit, total, 13*cost)
		}
		r.nodes[0] = newPop(2, l).nodes[0]
		r.Meter = r.nodes[0].Meter("r")
		f(r, cost, k)
	}
}

// holds has the node asked for once, before it hears the ring, and looks at its count before and
// after that.
func (r *reborn) holds(t *testing.T, before, after int64) {
	t.Helper()
	r.now = r.now.Add(10 * time.Millisecond)
	ask(r.Meter, r.now, "k", before/14)
	if got := used(r.Meter, r.now, "k"); got != before {
		t.Errorf("limit %d: %d used before the ring is heard, want %d", r.limit.Limit, got, before)
	}
	r.until(r.now.Add(500 * time.Millisecond))
	if got := used(r.Meter, r.now, "k"); got != after {
		t.Errorf("limit %d: %d used once the ring is heard, want %d", r.limit.Limit, got, after)
	}
}

// TestRestoreMergesTheRingOnce: restored cost is not merged again from the ring, which holds it
// too.
func TestRestoreMergesTheRingOnce(t *testing.T) {
	reborns(t, func(r *reborn, cost int64, k Snapshot) {
		if !r.Restore(r.now, []byte("k"), k) || used(r.Meter, r.now, "k") != 13*cost {
			t.Fatalf("limit %d: %d put back", r.limit.Limit, used(r.Meter, r.now, "k"))
		}
		r.holds(t, 14*cost, 14*cost)
	})
}

// TestRestoreOutlivesTheRing: restored cost stays although the ring has forgotten it.
func TestRestoreOutlivesTheRing(t *testing.T) {
	reborns(t, func(r *reborn, cost int64, k Snapshot) {
		r.Restore(r.now, []byte("k"), k)
		clear(r.ring)
		r.holds(t, 14*cost, 14*cost)
	})
}

// TestRestoreMergesTheTimeBetween: other nodes' admissions while the node was away are merged.
func TestRestoreMergesTheTimeBetween(t *testing.T) {
	reborns(t, func(r *reborn, cost int64, k Snapshot) {
		other := r.nodes[1].Meter("r")
		for range 3 {
			ask(other, r.now, "k", cost)
			r.until(r.now.Add(700 * time.Millisecond))
		}
		r.Restore(r.now, []byte("k"), k)
		r.holds(t, 14*cost, 17*cost)
	})
}

// TestRestoreOfAnotherKind: where the kept totals say something else, or nothing, all that the ring
// holds passes for kept.
func TestRestoreOfAnotherKind(t *testing.T) {
	edgetest.Alone(t)
	for _, kind := range []uint32{0, 1, knownKind} {
		reborns(t, func(r *reborn, cost int64, k Snapshot) {
			k.Ring.Kind = kind
			r.Restore(r.now, []byte("k"), k)
			r.holds(t, 14*cost, 14*cost)
		})
	}
}

// TestSnapshotLeavesOutPending: cost that waits for the next flush is not in the snapshot, or it
// would be merged as the others'. Cost that waits for a ring that does not answer is.
func TestSnapshotLeavesOutPending(t *testing.T) {
	p := newPop(2, Limit{Name: "r", Limit: 20, Window: 10 * time.Second})
	m := p.nodes[0].Meter("r")
	kept := func() (units int64) {
		for _, mark := range m.Snapshot(p.now, m.Index([]byte("k")), nil, 4).Marks {
			units += mark.Units
		}
		return units
	}
	ask(m, p.now, "k", 3)
	p.until(p.now.Add(time.Second))
	if got := kept(); got != 3 {
		t.Errorf("%d kept of 3 that were told", got)
	}
	ask(m, p.now, "k", 2)
	if got := kept(); got != 3 {
		t.Errorf("%d kept, want the 3 that were told and not the 2 that will be", got)
	}
	p.cut = func(int) bool { return true }
	p.until(p.now.Add(500 * time.Millisecond))
	if got := kept(); got != 5 {
		t.Errorf("%d kept while the ring does not answer, want all 5", got)
	}
}

// TestSnapshotDuringAnExchange: cost on its way to the ring counts as sent and is not merged again;
// cost that did not arrive becomes pending.
func TestSnapshotDuringAnExchange(t *testing.T) {
	for _, sent := range []bool{true, false} {
		l := Limit{Name: "r", Limit: 20, Window: 10 * time.Second}
		p := newPop(1, l)
		m := p.nodes[0].Meter("r")
		ask(m, p.now, "k", 3)
		p.until(p.now.Add(500 * time.Millisecond))
		ask(m, p.now, "k", 2)
		var k Snapshot
		p.fails = func(d *Due) (failed, told bool) {
			if d.Delta != 0 {
				k = m.Snapshot(p.now, m.Index([]byte("k")), nil, 4)
				p.fails = nil
			}
			return d.Delta != 0 && !sent, false
		}
		p.until(p.now.Add(500 * time.Millisecond))
		if len(k.Marks) == 0 {
			t.Fatal("nothing was kept")
		}
		if got := p.ring.total(m.packing); got != 5 {
			t.Errorf("sent %v: the ring holds %d, want 5", sent, got)
		}
		p.nodes[0] = newPop(1, l).nodes[0]
		m = p.nodes[0].Meter("r")
		m.Restore(p.now, []byte("k"), k)
		ask(m, p.now, "k", 1)
		p.until(p.now.Add(500 * time.Millisecond))
		if got := used(m, p.now, "k"); got != 6 {
			t.Errorf("sent %v: %d used, want 6", sent, got)
		}
	}
}

// total returns the admitted cost in all counters.
func (a adder) total(p packing) (sum int64) {
	for _, word := range a {
		sum += p.totals(word).Admitted
	}
	return sum
}
