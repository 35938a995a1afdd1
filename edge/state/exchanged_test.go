package state

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

var updateGolden = flag.Bool("update", false, "write the golden files of this package anew")

// stateTypes are the types that two states are compared by.
var stateTypes = cmp.Options{}

// goldenWritten is when the golden states were written, Unix microseconds.
const goldenWritten = 1_700_000_000_000_000

// stateBefore is before.state: as written before counts had an exchanged part.
func stateBefore() *gate.Snapshot {
	return &gate.Snapshot{
		Written: goldenWritten, Stopped: true,
		Rules: []gate.SnapshotRule{{Name: "shed", Window: 10 * time.Second}, {Name: "world", Window: time.Minute}},
		Flags: []gate.SnapshotFlag{{
			Rule: 0, Key: []byte("10.0.0.1"), Action: mitigation.Shed, Ratio: 1 << 31, Source: mitigation.Gossip,
			Since: goldenWritten - 3_000_000, Until: goldenWritten + 7_000_000, Origin: "fra", Reason: "too much",
		}},
		Counts: []gate.SnapshotCount{
			{Rule: 0, Key: []byte("10.0.0.1"), Refusing: true, Asked: 30, Marks: []gate.SnapshotMark{{At: goldenWritten - 4_000_000, Units: 2}, {At: goldenWritten - 1_000_000, Units: 1}}},
			{Rule: 1, Key: []byte("10.0.0.2"), Asked: 60, Marks: []gate.SnapshotMark{{At: goldenWritten - 20_000_000, Units: 60}}},
		},
	}
}

// stateExchanged is whose.state: the same, with the exchanged part of each count.
func stateExchanged() *gate.Snapshot {
	s := stateBefore()
	s.Counts[0].Apart, s.Counts[0].Ring = true, window.RingSnapshot{Kind: 1<<31 | 1<<29, Period: 850_000_000, Last: 3<<40 | 5000<<14 | 3, Before: 1 << 63}
	told, heard := window.Totals{Period: 141_666_666}, window.Totals{Period: 141_666_665}
	told.By[0] = window.PeriodTotals{Offered: 25, Admitted: 20, Times: 41_000}
	heard.By[window.Periods-1] = window.PeriodTotals{Offered: 40, Admitted: 40, Times: 82_000}
	s.Counts[1].Apart, s.Counts[1].Global = true, control.Snapshot{Reported: told, Alone: true, Merged: heard}
	byPoP := s.Counts[1]
	byPoP.Key, byPoP.Global = []byte("10.0.0.3"), control.Snapshot{Merged: heard}
	s.Counts = append(s.Counts, byPoP)
	return s
}

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	all, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestStateGolden holds the bytes of a state: those of before are still read, and are never written anew.
func TestStateGolden(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]*gate.Snapshot{"before.state": stateBefore(), "whose.state": stateExchanged()} {
		all, _ := encodeState(nil, want)
		if *updateGolden && name == "whose.state" {
			if err := os.WriteFile(filepath.Join("testdata", name), all, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		is, err := decodeState(readGolden(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, is, stateTypes); d != "" {
			t.Errorf("%s is read as something else: %s", name, d)
		}
		if d := cmp.Diff(readGolden(t, name), all); d != "" {
			t.Errorf("%s is written otherwise: %s", name, d)
		}
	}
}

// TestExchangedIsAllOrNothing cuts the end of a count's record at every byte: a part is torn.
func TestExchangedIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := stateExchanged()
	for n := range s.Counts {
		c := &s.Counts[n]
		var w stateWriter
		w.exchanged(c)
		for end := range w.record {
			r, is := stateReader{rest: w.record[:end]}, gate.SnapshotCount{}
			if r.exchanged(&is); !r.failed {
				t.Errorf("count %d cut at %d of %d is read as %+v", n, end, len(w.record), is)
			}
		}
		for _, by := range []byte{sentByPoP, sentByNode + 1} { // a PoP that sent nothing, and an unknown sender
			r := stateReader{rest: []byte{0, by, 0, 0}}
			if r.exchanged(&gate.SnapshotCount{}); !r.failed {
				t.Errorf("sender %d is believed", by)
			}
		}
	}
}

// TestRestoreOfBefore: a state of the first version is restored for rules that one node counts. For
// global rules it is not: the other PoPs' counts would be merged twice, and refuse a client below its
// limit.
func TestRestoreOfBefore(t *testing.T) {
	t.Parallel()
	here, world := mitigation.Rule{Name: "shed", Limit: 3, Window: 10 * time.Second}, globalRule(60, time.Minute)
	world.Name = "world"
	for _, c := range []struct {
		state *gate.Snapshot
		world int64 // that is left
	}{{stateBefore(), 59}, {stateExchanged(), 0}} {
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
	want := stateExchanged().Counts[1].Global
	reads := 0
	w := newGlobalGate(gate.Global{Snapshot: func(rule string, key []byte, read func()) control.Snapshot {
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
	next := newGlobalGate(gate.Global{Restore: func(since window.Instant, rule string, key []byte, k control.Snapshot) {
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
