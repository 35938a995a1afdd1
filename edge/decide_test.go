package edge

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// newTestEdge returns a node with the given rules.
func newTestEdge(t testing.TB, memory int64, rules ...mitigation.Rule) *Edge {
	t.Helper()
	cfg := config.Default()
	cfg.Node, cfg.Memory, cfg.Rules = "test", memory, rules
	e, err := New(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func query(op wire.Op, rule, key string, cost uint32) wire.Query {
	return wire.Query{Op: op, Rule: []byte(rule), Key: []byte(key), Cost: cost}
}

func (e *Edge) askAt(now window.Instant, op wire.Op, rule, key string, cost uint32) wire.Answer {
	return e.Lane(0).Decide(now, rand.Uint64(), query(op, rule, key, cost)).Answer
}

var (
	shedRule  = mitigation.Rule{Name: "shed", Limit: 3, Window: 10 * time.Second}
	blockRule = mitigation.Rule{Name: "block", Limit: 3, Window: 10 * time.Second, Action: mitigation.Block, BlockFor: time.Minute}
)

func TestCheckSequence(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule, blockRule)
	now := e.Now()
	for _, c := range []struct {
		after time.Duration
		op    wire.Op
		rule  string
		cost  uint32
		want  wire.Answer
	}{
		{0, wire.Peek, "shed", 1, wire.Answer{Remaining: 3}},
		{0, wire.Check, "shed", 1, wire.Answer{Remaining: 2, Reset: 10}},
		{1, wire.Check, "shed", 2, wire.Answer{Remaining: 0, Reset: 9}},
		{2, wire.Peek, "shed", 1, wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 8, Retry: 8}},
		{2, wire.Check, "shed", 1, wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 8, Retry: 8}},
		{3, wire.Check, "shed", 3, wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 8, Retry: 8}},
		{3, wire.Check, "shed", 4, wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 10, Retry: 10}},
		{10, wire.Check, "shed", 1, wire.Answer{Remaining: 0, Reset: 1}},
		{11, wire.Count, "shed", 1, wire.Answer{Status: wire.OK}},
		{11, wire.Count, "shed", 9, wire.Answer{Status: wire.OK}},
		{12, wire.Check, "shed", 1, wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 9, Retry: 9}},
		{20, wire.Check, "block", 3, wire.Answer{Remaining: 0, Reset: 10}},
		{21, wire.Check, "block", 1, wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Reset: 10, Retry: 60}},
		{22, wire.Check, "block", 1, wire.Answer{Status: wire.Deny, Why: wire.WhyBlock, Reset: 10, Retry: 59}},
		{80, wire.Peek, "block", 1, wire.Answer{Status: wire.Deny, Why: wire.WhyBlock, Reset: 1, Retry: 1}},
		{81, wire.Check, "block", 1, wire.Answer{Remaining: 2, Reset: 10}},
		{81, wire.Check, "none", 1, wire.Answer{Status: wire.Error, Code: wire.UnknownRule}},
	} {
		got := e.askAt(now.Add(c.after*time.Second), c.op, c.rule, "k", c.cost)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%ds %v %s cost=%d:\n got %+v\nwant %+v", c.after, c.op, c.rule, c.cost, got, c.want)
		}
	}
}

// TestPeekChangesNothing: not even a peek that is refused blocks anybody.
func TestPeekChangesNothing(t *testing.T) {
	e := newTestEdge(t, 1<<20, blockRule)
	now := e.Now()
	for range 10 {
		e.askAt(now, wire.Peek, "block", "k", 99)
	}
	if got := e.askAt(now, wire.Check, "block", "k", 3); got.Status != wire.Allow {
		t.Errorf("%+v", got)
	}
}

func TestFlagsComeBeforeTheCount(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule)
	now := e.Now()
	put := func(key string, f mitigation.Flag) {
		f.Index, f.Rule, f.Key = e.rules.Load().byName["shed"].meter.Index([]byte(key)), "shed", []byte(key)
		f.Source, f.Since, f.Until = mitigation.Manual, now, now.Add(time.Minute)
		e.flags.Put(now, f)
	}
	put("friend", mitigation.Flag{Action: mitigation.Allow})
	put("foe", mitigation.Flag{Action: mitigation.Block})
	put("half", mitigation.Flag{Action: mitigation.Shed, Ratio: mitigation.RatioFor(2, 1)})
	for range 10 {
		if got := e.askAt(now, wire.Check, "shed", "friend", 1); got.Status != wire.Allow {
			t.Fatalf("allowed by hand: %+v", got)
		}
	}
	if got := e.askAt(now, wire.Check, "shed", "foe", 1); got.Why != wire.WhyBlock || got.Retry != 60 {
		t.Errorf("blocked by hand: %+v", got)
	}
	shed, passed := 0, 0
	for n := range 4000 {
		got := e.askAt(now.Add(time.Duration(n)*10*time.Second), wire.Check, "shed", "half", 1)
		if got.Status == wire.Allow {
			passed++
		} else if got.Why == wire.WhyShed && got.Ratio == 0.5 && got.Retry == 1 {
			shed++
		}
		put("half", mitigation.Flag{Action: mitigation.Shed, Ratio: mitigation.RatioFor(2, 1)})
		now := now.Add(time.Duration(n) * 10 * time.Second)
		e.flags.Put(now, mitigation.Flag{
			Index: e.rules.Load().byName["shed"].meter.Index([]byte("half")), Rule: "shed", Key: []byte("half"),
			Action: mitigation.Shed, Ratio: mitigation.RatioFor(2, 1), Source: mitigation.Manual, Until: now.Add(time.Minute),
		})
	}
	if shed+passed != 4000 || shed < 1850 || shed > 2150 {
		t.Errorf("of 4000 at ratio 0.5: %d shed, %d passed", shed, passed)
	}
}

// TestShadowIsEnforceVerdictByVerdict replays one stream through both modes.
func TestShadowIsEnforceVerdictByVerdict(t *testing.T) {
	for _, rule := range []mitigation.Rule{shedRule, blockRule} {
		dark := rule
		dark.Mode = mitigation.Shadow
		real, shadow := newTestEdge(t, 1<<20, rule), newTestEdge(t, 1<<20, dark)
		rng, now := rand.New(rand.NewPCG(1, 2)), real.Now() // one time for both: a pause in between would tell them apart
		for n := range 20_000 {
			now = now.Add(time.Duration(rng.Int64N(int64(time.Second))))
			key, cost := fmt.Sprint(rng.IntN(9)), 1+rng.Uint32N(2)
			a := real.askAt(now, wire.Check, rule.Name, key, cost)
			b := shadow.askAt(now, wire.Check, rule.Name, key, cost)
			if b.Status != wire.Allow || (a.Status == wire.Deny) != b.Shadow {
				t.Fatalf("%s, request %d: enforce %+v, shadow %+v", rule.Name, n, a, b)
			}
		}
	}
}

func TestLeavingShadowInheritsNoDebt(t *testing.T) {
	for _, way := range [][]mitigation.Mode{{mitigation.Enforce}, {mitigation.Off, mitigation.Enforce}} {
		dark := blockRule
		dark.Mode = mitigation.Shadow
		e := newTestEdge(t, 1<<20, dark)
		now := e.Now()
		for range 10 {
			e.askAt(now, wire.Check, "block", "k", 1)
		}
		if got := e.askAt(now, wire.Check, "block", "k", 1); !got.Shadow {
			t.Fatalf("shadow should have refused: %+v", got)
		}
		for _, mode := range way {
			e.SetMode("", mode)
		}
		if got := e.askAt(now, wire.Check, "block", "k", 1); got.Status != wire.Allow || got.Remaining != 2 {
			t.Errorf("after shadow by way of %v: %+v", way, got)
		}
	}
}

func TestOffAllowsAndBack(t *testing.T) {
	e := newTestEdge(t, 1<<20, blockRule)
	now := e.Now()
	for range 5 {
		e.askAt(now, wire.Check, "block", "k", 1)
	}
	if e.SetMode("nosuch", mitigation.Off) || !e.SetMode("block", mitigation.Off) {
		t.Fatal("SetMode tells whether there is such a rule")
	}
	if got := e.askAt(now, wire.Check, "block", "k", 1); got.Status != wire.Allow || got.Shadow {
		t.Errorf("off: %+v", got)
	}
	e.SetMode("block", mitigation.Enforce)
	if got := e.askAt(now, wire.Check, "block", "k", 1); got.Why != wire.WhyBlock {
		t.Errorf("on again, the block still stands: %+v", got)
	}
}

// TestReloadUnderLoad changes the rules a thousand times while requests run: nobody under the limit is
// refused, and no request meets a moment without rules.
// TestClockSteps steps the wall clock by up to an hour either way under running windows. In a bubble the
// monotonic clock advances as it should; counting follows that one.
func TestClockSteps(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			e := newTestEdge(t, 1<<20, shedRule)
			now := e.Now()
			e.steps.watch(now, time.Now())
			for range 3 {
				e.askAt(now, wire.Check, "shed", "k", 1)
			}
			time.Sleep(5 * time.Second)
			stepped := time.Now().Round(0).Add(step) // what the wall clock would say
			e.steps.watch(e.Now(), stepped)
			if got := e.askAt(e.Now(), wire.Check, "shed", "k", 1); got.Retry != 5 {
				t.Errorf("step %v, half a window later: %+v", step, got)
			}
			if got := e.askAt(e.Now(), wire.Check, "shed", "other", 1); got.Status != wire.Allow {
				t.Errorf("step %v refused a client below its limit: %+v", step, got)
			}
			time.Sleep(5 * time.Second)
			if got := e.askAt(e.Now(), wire.Check, "shed", "k", 1); got.Status != wire.Allow {
				t.Errorf("step %v, a window later: %+v", step, got)
			}
			if e.steps.seen.Load() != 1 {
				t.Errorf("step %v: %d steps counted", step, e.steps.seen.Load())
			}
			if got := e.Wall(e.Now()); got.Sub(stepped) != 5*time.Second {
				t.Errorf("step %v: shown %v, the wall clock says %v", step, got, stepped.Add(5*time.Second))
			}
		})
	}
}

func TestTotals(t *testing.T) {
	e := newTestEdge(t, 1<<20, blockRule)
	now := e.Now()
	e.askAt(now, wire.Check, "block", "k", 2)
	e.askAt(now, wire.Check, "block", "k", 2) // limit
	e.askAt(now, wire.Check, "block", "k", 5) // block
	e.askAt(now, wire.Count, "block", "j", 7)
	e.askAt(now, wire.Peek, "block", "k", 9)
	sum := e.rules.Load().byName["block"].totals()
	if sum.offered() != 16 || sum.admitted() != 9 || sum.refused() != 7 {
		t.Errorf("offered %d admitted %d refused %d", sum.offered(), sum.admitted(), sum.refused())
	}
	if sum.requests != [outcomes]uint64{outcomeAllowed: 1, outcomeBlocked: 1, outcomeLimited: 1, outcomeCounted: 1} {
		t.Errorf("%v", sum.requests)
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule, blockRule)
	now, n := e.Now(), 0
	var key [8]byte
	queries := []wire.Query{
		query(wire.Check, "shed", "k", 1), query(wire.Check, "block", "k", 1), query(wire.Peek, "shed", "k", 1),
		query(wire.Count, "shed", "k", 1), query(wire.Check, "none", "k", 1),
		{Op: wire.Ping},
		{Op: wire.Check, Rule: []byte("block"), Key: key[:], Cost: 4},
	}
	allocs := testing.AllocsPerRun(5000, func() {
		n++
		key[n%8]++ // new suspects and new flags too
		for _, q := range queries {
			e.Lane(0).Decide(now.Add(time.Duration(n)*time.Millisecond), rand.Uint64(), q)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
