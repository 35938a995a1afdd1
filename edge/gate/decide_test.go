package gate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// ask has g decide at now by a random draw, and returns the decision as tests compare it: durations
// rounded up to whole seconds, without the rule. It panics when no such rule is in force.
//
//nolint:revive // a question in one line
func ask(g *gate.Gate, now window.Instant, op gate.Op, rule, key string,
	cost uint32,
) gate.Decision {
	d, err := g.Lane(0).Decide(now, rand.Uint64(), gatetest.Ask(op, rule, key, cost))
	if err != nil {
		panic(err)
	}
	d.Rule = nil
	d.Reset, d.Retry = wholeSeconds(d.Reset), wholeSeconds(d.Retry)
	return d
}

func wholeSeconds(d time.Duration) time.Duration {
	return max(0, (d+time.Second-1)/time.Second*time.Second)
}

// denial returns a denial for why, with seconds to the reset and until a retry.
func denial(why mitigation.Why, reset, retry time.Duration) gate.Decision {
	return gate.Decision{
		Deny: true, Why: why, Reset: reset * time.Second, Retry: retry * time.Second,
	}
}

func TestCheckSequence(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	now := g.Now()
	for _, c := range []struct {
		after time.Duration
		op    gate.Op
		rule  string
		cost  uint32
		want  gate.Decision
	}{
		{0, gate.Peek, "shed", 1, gate.Decision{Remaining: 3}},
		{0, gate.Check, "shed", 1, gate.Decision{Remaining: 2, Reset: 10 * time.Second}},
		{1, gate.Check, "shed", 2, gate.Decision{Remaining: 0, Reset: 9 * time.Second}},
		{2, gate.Peek, "shed", 1, denial(mitigation.ByLimit, 8, 8)},
		{2, gate.Check, "shed", 1, denial(mitigation.ByLimit, 8, 8)},
		{3, gate.Check, "shed", 3, denial(mitigation.ByLimit, 8, 8)},
		{3, gate.Check, "shed", 4, denial(mitigation.ByCost, 7, 0)},
		{10, gate.Check, "shed", 1, gate.Decision{Remaining: 0, Reset: 1 * time.Second}},
		{11, gate.Count, "shed", 1, gate.Decision{}},
		{11, gate.Count, "shed", 9, gate.Decision{}},
		{12, gate.Check, "shed", 1, denial(mitigation.ByLimit, 9, 9)},
		{20, gate.Check, "block", 3, gate.Decision{Remaining: 0, Reset: 10 * time.Second}},
		{21, gate.Check, "block", 1, denial(mitigation.ByLimit, 10, 60)},
		{22, gate.Check, "block", 1, denial(mitigation.ByBlock, 10, 59)},
		{80, gate.Peek, "block", 1, denial(mitigation.ByBlock, 1, 1)},
		{81, gate.Check, "block", 1, gate.Decision{Remaining: 2, Reset: 10 * time.Second}},
	} {
		got := ask(g, now.Add(c.after*time.Second), c.op, c.rule, "k", c.cost)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%ds %v %s cost=%d:\n got %+v\nwant %+v", c.after, c.op, c.rule, c.cost, got,
				c.want)
		}
	}
}

// TestPeekChangesNothing checks that not even a refused Peek blocks its key.
func TestPeekChangesNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	for range 10 {
		ask(g, now, gate.Peek, "block", "k", 99)
	}
	if got := ask(g, now, gate.Check, "block", "k", 3); got.Deny {
		t.Errorf("%+v", got)
	}
}

// TestPeekAfterACostAboveTheLimit checks that a refused cost that no slot counts uses up nothing.
func TestPeekAfterACostAboveTheLimit(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	now := g.Now()
	if got := ask(g, now, gate.Check, "shed", "k", 99); !got.Deny {
		t.Fatalf("above the limit: %+v", got)
	}
	fresh := ask(g, now, gate.Peek, "shed", "other", 1)
	if got := ask(g, now, gate.Peek, "shed", "k", 1); got != fresh || got.Remaining != 3 {
		t.Errorf("nothing was admitted: %+v, as of a new key %+v", got, fresh)
	}
}

func TestFlagsComeBeforeTheCount(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	now := g.Now()
	micros := func(i window.Instant) int64 { return i.Time().UnixMicro() }
	flag := func(key string, action mitigation.Action, ratio mitigation.Ratio,
		lasts time.Duration,
	) snapshot.Flag {
		return snapshot.Flag{
			Key: []byte(key), Action: action, Ratio: ratio, Source: mitigation.Manual,
			Since: micros(now), Until: micros(now.Add(lasts)),
		}
	}
	restoreFlags(t, g, now, gatetest.Shed,
		flag("friend", mitigation.Allow, 0, time.Minute),
		flag("foe", mitigation.Block, 0, time.Minute),
		flag("half", mitigation.Shed, mitigation.RatioFor(2, 1), 24*time.Hour))
	for range 10 {
		if got := ask(g, now, gate.Check, "shed", "friend", 1); got.Deny {
			t.Fatalf("allowed by hand: %+v", got)
		}
	}
	if got := ask(g, now, gate.Check, "shed", "foe", 1); got.Why != mitigation.ByBlock ||
		got.Retry != 60*time.Second {
		t.Errorf("blocked by hand: %+v", got)
	}
	shed, passed := 0, 0
	for n := range 4000 {
		got := ask(g, now.Add(time.Duration(n)*10*time.Second), gate.Check, "shed", "half", 1)
		if !got.Deny {
			passed++
		} else if got.Why == mitigation.ByShed && got.Ratio == mitigation.RatioFor(2, 1) &&
			got.Retry == 1*time.Second {
			shed++
		}
	}
	if shed+passed != 4000 || shed < 1850 || shed > 2150 {
		t.Errorf("of 4000 at ratio 0.5: %d shed, %d passed", shed, passed)
	}
}

// TestShadowIsEnforceVerdictByVerdict replays one stream through both modes.
func TestShadowIsEnforceVerdictByVerdict(t *testing.T) {
	for _, rule := range []mitigation.Rule{gatetest.Shed, gatetest.Block} {
		dark := rule
		dark.Mode = mitigation.Shadow
		real, shadow := gatetest.New(t, 1<<20, rule), gatetest.New(t, 1<<20, dark)
		// one clock for both: a pause between two readings would make them differ
		rng, now := rand.New(rand.NewPCG(1, 2)), real.Now()
		for n := range 20_000 {
			now = now.Add(time.Duration(rng.Int64N(int64(time.Second))))
			key, cost := fmt.Sprint(rng.IntN(9)), 1+rng.Uint32N(2)
			a := ask(real, now, gate.Check, rule.Name, key, cost)
			b := ask(shadow, now, gate.Check, rule.Name, key, cost)
			if b.Deny || a.Deny != b.Shadow {
				t.Fatalf("%s, request %d: enforce %+v, shadow %+v", rule.Name, n, a, b)
			}
		}
	}
}

func TestLeavingShadowInheritsNoDebt(t *testing.T) {
	for _, way := range [][]mitigation.Mode{
		{mitigation.Enforce},
		{mitigation.Off, mitigation.Enforce},
	} {
		dark := gatetest.Block
		dark.Mode = mitigation.Shadow
		g := gatetest.New(t, 1<<20, dark)
		now := g.Now()
		for range 10 {
			ask(g, now, gate.Check, "block", "k", 1)
		}
		if got := ask(g, now, gate.Check, "block", "k", 1); !got.Shadow {
			t.Fatalf("shadow should have refused: %+v", got)
		}
		for _, mode := range way {
			g.SetMode("", mode)
		}
		if got := ask(g, now, gate.Check, "block", "k", 1); got.Deny || got.Remaining != 2 {
			t.Errorf("after shadow by way of %v: %+v", way, got)
		}
	}
}

func TestOffAllowsAndBack(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	for range 5 {
		ask(g, now, gate.Check, "block", "k", 1)
	}
	if g.SetMode("nosuch", mitigation.Off) || !g.SetMode("block", mitigation.Off) {
		t.Fatal("SetMode tells whether there is such a rule")
	}
	if got := ask(g, now, gate.Check, "block", "k", 1); got.Deny || got.Shadow {
		t.Errorf("off: %+v", got)
	}
	g.SetMode("block", mitigation.Enforce)
	if got := ask(g, now, gate.Check, "block", "k", 1); got.Why != mitigation.ByBlock {
		t.Errorf("on again, the block still stands: %+v", got)
	}
}

// TestClockSteps steps the wall clock by up to an hour in either direction while windows run.
// Counting follows the monotonic clock, which the bubble drives.
func TestClockSteps(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			g := gatetest.New(t, 1<<20, gatetest.Shed)
			now := g.Now()
			g.Turn(1, now, time.Now())
			for range 3 {
				ask(g, now, gate.Check, "shed", "k", 1)
			}
			time.Sleep(5 * time.Second)
			stepped := time.Now().Round(0).Add(step) // reading of the wall clock after the step
			g.Turn(1, g.Now(), stepped)
			if got := ask(g, g.Now(), gate.Check, "shed", "k", 1); got.Retry != 5*time.Second {
				t.Errorf("step %v, half a window later: %+v", step, got)
			}
			if got := ask(g, g.Now(), gate.Check, "shed", "other", 1); got.Deny {
				t.Errorf("step %v refused a client below its limit: %+v", step, got)
			}
			time.Sleep(5 * time.Second)
			if got := ask(g, g.Now(), gate.Check, "shed", "k", 1); got.Deny {
				t.Errorf("step %v, a window later: %+v", step, got)
			}
			if g.ClockSteps() != 1 {
				t.Errorf("step %v: %d steps counted", step, g.ClockSteps())
			}
			if got := g.Wall(g.Now()); got.Sub(stepped) != 5*time.Second {
				t.Errorf("step %v: shown %v, the wall clock says %v", step, got,
					stepped.Add(5*time.Second))
			}
		})
	}
}

// TestACountUpToTheLimitBlocks: and no smaller count.
func TestACountUpToTheLimitBlocks(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	for n := range gatetest.Block.Limit {
		if is := g.Effect(now, "block", []byte("k")); is.Blocks(now) != 0 {
			t.Errorf("blocked after %d", n)
		}
		ask(g, now, gate.Count, "block", "k", 1)
	}
	if is := g.Effect(now, "block", []byte("k")); is.Blocks(now) != time.Minute {
		t.Errorf("%+v", is)
	}
}

func TestTotals(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	ask(g, now, gate.Check, "block", "k", 2)
	ask(g, now, gate.Check, "block", "k", 2) // limit
	ask(g, now, gate.Check, "block", "k", 2) // block
	ask(g, now, gate.Count, "block", "j", 7)
	ask(g, now, gate.Peek, "block", "k", 9)
	is, _, ok := g.Observation("block")
	if !ok {
		t.Fatal("no such rule")
	}
	sum := is.Totals
	if sum.Offered() != 13 || sum.Admitted() != 9 || sum.Refused() != 4 {
		t.Errorf("offered %d admitted %d refused %d", sum.Offered(), sum.Admitted(), sum.Refused())
	}
	if sum.Requests != [gate.Outcomes]uint64{
		gate.OutcomeAllowed: 1, gate.OutcomeBlocked: 1,
		gate.OutcomeLimited: 1, gate.OutcomeCounted: 1,
	} {
		t.Errorf("%v", sum.Requests)
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	now, n := g.Now(), 0
	var key [8]byte
	queries := []gate.Ask{
		gatetest.Ask(gate.Check, "shed", "k", 1), gatetest.Ask(gate.Check, "block", "k", 1),
		gatetest.Ask(gate.Peek, "shed", "k", 1),
		gatetest.Ask(gate.Count, "shed", "k", 1), gatetest.Ask(gate.Check, "none", "k", 1),
		{Op: gate.Check, Rule: []byte("block"), Key: key[:], Cost: 4},
	}
	allocs := testing.AllocsPerRun(5000, func() {
		n++
		key[n%8]++ // new suspects and new flags too
		for _, q := range queries {
			_, _ = g.Lane(0).Decide(now.Add(time.Duration(n)*time.Millisecond), rand.Uint64(), q)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
