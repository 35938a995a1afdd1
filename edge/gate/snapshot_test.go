package gate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestSnapshotRoundTrip takes a gate's snapshot, and checks that another gate that restores it
// answers alike, and has the same snapshot again.
func TestSnapshotRoundTrip(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	gatetest.Refuse(g, "shed", "over")
	gatetest.Refuse(g, "block", "blocked")
	now := g.Now()
	ask(g, now, gate.Check, "shed", "near", 2)
	ask(g, now, gate.Check, "shed", "far", 1)
	if _, err := g.Override(now, byHand("shed", "friend", mitigation.Allow)); err != nil {
		t.Fatal(err)
	}
	s := g.Snapshot(now, true)
	if len(s.Overrides) != 1 || len(s.Flags) != 2 || len(s.Counts) != 3 ||
		len(s.Rules) != 2 || !s.Stopped {
		t.Fatalf("%+v", s)
	}
	next := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	is, err := next.Restore(now, s, time.Minute)
	if want := (gate.Restored{Overrides: 1, Flags: 2, Counts: 3}); err != nil || is != want {
		t.Fatalf("restored %+v, %v, want %+v", is, err, want)
	}
	for rule, keys := range map[string][]string{
		"shed":  {"over", "near", "friend", "unseen"},
		"block": {"blocked", "unseen"},
	} {
		for _, key := range keys {
			a, b := ask(g, now, gate.Peek, rule, key, 1), ask(next, now, gate.Peek, rule, key, 1)
			if a != b {
				t.Errorf("rule %s, key %s: before %+v, after %+v", rule, key, a, b)
			}
		}
	}
	again := next.Snapshot(now, true)
	if again.Written != s.Written || len(again.Overrides) != 1 || len(again.Flags) != 2 ||
		len(again.Counts) != 3 {
		t.Errorf("before %+v, after %+v", s, again)
	}
}

func TestRestoreIsHeldToTheRulesInForce(t *testing.T) {
	longer, off, other := gatetest.Block, gatetest.Block, gatetest.Block
	longer.Window, off.Mode, other.Action = 20*time.Second, mitigation.Off, mitigation.Shed
	dark := gatetest.Block
	dark.Mode = mitigation.Shadow
	for name, c := range map[string]struct {
		was, is mitigation.Rule
		want    gate.Restored
	}{
		"unchanged":     {gatetest.Block, gatetest.Block, gate.Restored{Flags: 1, Counts: 1}},
		"gone":          {gatetest.Block, gatetest.Shed, gate.Restored{}},
		"off":           {gatetest.Block, off, gate.Restored{}},
		"other window":  {gatetest.Block, longer, gate.Restored{Flags: 1}},
		"other action":  {gatetest.Block, other, gate.Restored{Counts: 1}},
		"left shadow":   {dark, gatetest.Block, gate.Restored{}},
		"put in shadow": {gatetest.Block, dark, gate.Restored{Flags: 1, Counts: 1}},
	} {
		g := gatetest.New(t, 1<<20, c.was)
		gatetest.Refuse(g, "block", "k")
		next := gatetest.New(t, 1<<20, c.is)
		if is, err := next.Restore(next.Now(), g.Snapshot(g.Now(), true), 0); err != nil ||
			is != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, is, err, c.want)
		}
	}
}

func TestRestoreRefusesTheFuture(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	gatetest.Refuse(g, "block", "k")
	now := g.Now()
	s := g.Snapshot(now.Add(time.Hour), true)
	next := gatetest.New(t, 1<<20, gatetest.Block)
	if is, err := next.Restore(now, s, 0); !errors.Is(err, gate.ErrFuture) ||
		is != (gate.Restored{}) {
		t.Errorf("%+v, %v", is, err)
	}
	if all := flagsOf(next, now); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
