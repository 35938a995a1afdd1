package gate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// climbing is gatetest.Block with a ladder.
func climbing() mitigation.Rule {
	r := gatetest.Block
	r.Ladder = mitigation.Ladder{
		Steps:  []time.Duration{r.BlockFor, 10 * time.Minute, time.Hour},
		Forget: 24 * time.Hour,
	}
	return r
}

// offend goes over the limit at now, and returns how long the key is blocked.
func offend(g *gate.Gate, now window.Instant) time.Duration {
	ask(g, now, gate.Check, gatetest.Block.Name, "k", uint32(gatetest.Block.Limit))
	d := ask(g, now, gate.Check, gatetest.Block.Name, "k", 1)
	return d.Retry
}

// TestLadderOfBlocks: a key that goes over its limit again is blocked for longer, and a restart
// between two blocks forgives nothing; nor does a rule whose ladder is shorter by then lengthen
// one.
func TestLadderOfBlocks(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 1<<20, climbing())
	now := g.Now()
	if got := offend(g, now); got != time.Minute {
		t.Fatalf("the first block: %s", got)
	}
	now = now.Add(2 * time.Minute)
	if got := offend(g, now); got != 10*time.Minute {
		t.Fatalf("the second block: %s", got)
	}
	is, ok := g.Inspect(now, 0, gatetest.Block.Name, []byte("k"), nil)
	if !ok || is.Strikes != 2 || is.Flag == nil || is.Flag.Strikes != 2 {
		t.Fatalf("%+v", is)
	}
	now = now.Add(20 * time.Minute)
	s := g.Snapshot(now, true)
	if len(s.Strikes) != 1 || s.Strikes[0].Number != 2 || len(s.Flags) != 0 {
		t.Fatalf("%+v", s)
	}
	for _, tt := range []struct {
		rule mitigation.Rule
		want time.Duration
	}{{climbing(), time.Hour}, {gatetest.Block, time.Minute}} {
		after := gatetest.New(t, 1<<20, tt.rule)
		if _, err := after.Restore(now, s, 0); err != nil {
			t.Fatal(err)
		}
		if got := offend(after, now); got != tt.want {
			t.Errorf("the block after the restart: %s, want %s", got, tt.want)
		}
	}
}

// TestARatioNeedsSiblings: a drop ratio of other PoPs' demand, which one loud address caused, drops
// nothing of its network until enough narrower keys ask under it.
func TestARatioNeedsSiblings(t *testing.T) {
	rule := globalRule(2000, time.Second)
	rule.Siblings = 3
	w := newGlobalNode(t, 0, rule)
	from := func(narrower string) gate.Decision {
		a := gatetest.Ask(gate.Check, "r", "k", 1)
		a.Parts = &gate.Parts{Narrower: []byte(narrower)}
		d, _ := w.Lane(0).Decide(w.now, rand.Uint64(), a) // of a rule there is
		return d
	}
	for range 3000 {
		if d := from("one"); d.Deny {
			t.Fatalf("denied for one narrower key: %+v", d)
		}
	}
	w.advise(w.flush(), 0.9, 0)
	// the window is empty again, and the ratio still in force
	w.now = w.now.Add(950 * time.Millisecond)
	denied := 0
	for n := range 200 {
		if from([]string{"one", "two"}[n%2]).Deny {
			denied++
		}
	}
	if denied > 0 {
		t.Errorf("%d of 200 requests of two narrower keys denied", denied)
	}
	for n := range 100 {
		if d := from([]string{"one", "two", "three"}[n%3]); d.Deny && d.Why == mitigation.ByShed {
			denied++
		}
	}
	if denied < 75 {
		t.Errorf("%d of 100 requests of three narrower keys shed, want about 90", denied)
	}
}
