package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/state/codec"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// goldenWritten is when the golden states of package codec were written, Unix microseconds.
const goldenWritten = 1_700_000_000_000_000

// golden returns the state in a golden file of package codec: before.state was written before
// counts had an exchanged part, whose.state has it.
func golden(t testing.TB, name string) *gate.Snapshot {
	t.Helper()
	all, err := os.ReadFile(filepath.Join("codec", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := codec.Decode(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRestoreOfBefore: a state of the first version is restored for rules that one node counts. For
// global rules it is not: the other PoPs' counts would be merged twice, and refuse a client below
// its limit.
func TestRestoreOfBefore(t *testing.T) {
	t.Parallel()
	here, world := mitigation.Rule{Name: "shed", Limit: 3, Window: 10 * time.Second},
		globalRule(60, time.Minute)
	world.Name = "world"
	for _, c := range []struct {
		state *gate.Snapshot
		world int64 // that is left
	}{{golden(t, "before.state"), 59}, {golden(t, "whose.state"), 0}} {
		g := newGlobalGate(gate.Global{}, here, world).Gate
		at := window.Instant(goldenWritten * int64(time.Microsecond))
		if _, err := g.Restore(at, c.state, unseen); err != nil {
			t.Fatal(err)
		}
		if a := gatetest.Decide(g, at, gate.Check, "shed", "10.0.0.1", 1); !a.Deny {
			t.Errorf("apart %v: a node's own counts are lost: %+v", c.state.Counts[0].Apart, a)
		}
		if a := gatetest.Decide(g, at, gate.Check, "world", "10.0.0.2", 1); a.Remaining != c.world {
			t.Errorf("apart %v: %+v, want %d left", c.state.Counts[0].Apart, a, c.world)
		}
	}
}

// TestGlobalSnapshot: the global part of a key's count is written with it, and handed back with the
// instant at which its slot was made.
func TestGlobalSnapshot(t *testing.T) {
	t.Parallel()
	want := golden(t, "whose.state").Counts[1].Global
	reads := 0
	w := newGlobalGate(gate.Global{Snapshot: func(rule string, key []byte,
		read func(),
	) control.Snapshot {
		if reads++; rule != "r" || string(key) != "k" {
			t.Errorf("asked about %s of %s", key, rule)
		}
		read()
		return want
	}}, globalRule(5, time.Minute))
	for range 4 {
		gatetest.Decide(w.Gate, w.now, gate.Check, "r", "k", 1)
	}
	s := roundTrip(t, w.Gate, w.now, true)
	if reads != 1 || len(s.Counts) != 1 {
		t.Fatalf("%d counts, read %d times", len(s.Counts), reads)
	}
	back := 0
	next := newGlobalGate(gate.Global{Restore: func(since window.Instant, rule string, key []byte,
		k control.Snapshot,
	) {
		if d := cmp.Diff(want, k); d != "" || since != w.now || rule != "r" || string(key) != "k" {
			t.Errorf("%s of %s since %v: %s", key, rule, since, d)
		}
		back++
	}}, globalRule(5, time.Minute))
	if _, err := next.Restore(w.now, s, unseen); err != nil || back != 1 {
		t.Errorf("%v, handed back %d times", err, back)
	}
	if since, ok := next.SuspectSince([]byte("r"), []byte("k")); !ok || since != w.now {
		t.Errorf("its slot was made at %v", since)
	}
}
