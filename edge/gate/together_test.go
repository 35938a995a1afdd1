package gate_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// question returns a question of cost 1.
func question(op gate.Op, rule, key string) gate.Question {
	return gate.Question{Ask: gatetest.Ask(op, rule, key, 1)}
}

// all has g decide the questions together.
func all(
	t testing.TB, g *gate.Gate, now window.Instant, questions ...gate.Question,
) *gate.Together {
	t.Helper()
	var together gate.Together
	together.N = copy(together.Questions[:], questions)
	b := g.Lane(0).Batch(now, rand.Uint64)
	defer b.End()
	if err := b.All(&together); err != nil {
		t.Fatal(err)
	}
	return &together
}

// left returns the cost left to key under rule.
func left(g *gate.Gate, now window.Instant, rule, key string) int64 {
	return ask(g, now, gate.Peek, rule, key, 1).Remaining
}

var (
	group = mitigation.Rule{Name: "group", Limit: 10, Window: time.Minute}
	route = mitigation.Rule{Name: "route", Limit: 3, Window: 30 * time.Second}
)

func TestANarrowRuleDoesNotUseUpAWideOne(t *testing.T) {
	g := gatetest.New(t, 1<<20, group, route)
	now := g.Now()
	for k := range 5 {
		got := all(t, g, now, question(gate.Check, "group", "a"),
			question(gate.Check, "route", "a"))
		if got.Deny != (k >= 3) || got.By != 1 || got.Decisions[0].Deny {
			t.Fatalf("request %d: deny %v by %d: %+v", k, got.Deny, got.By, got.Decisions[:2])
		}
	}
	if n := left(g, now, "group", "a"); n != 7 {
		t.Errorf("the group has %d left, want 7", n)
	}
	f, _, _ := g.Observation("group")
	if r := f.Totals.Requests; r[gate.OutcomeAllowed] != 3 || r[gate.OutcomeWithheld] != 2 ||
		f.Totals.Offered() != 5 || f.Totals.Refused() != 0 {
		t.Errorf("figures of the group: %+v", f.Totals)
	}
	if f, _, _ = g.Observation("route"); f.Totals.Requests[gate.OutcomeLimited] != 2 {
		t.Errorf("figures of the route: %+v", f.Totals)
	}
}

func TestTheLongestRetryAnswers(t *testing.T) {
	wide := mitigation.Rule{Name: "wide", Limit: 1, Window: time.Minute}
	g := gatetest.New(t, 1<<20, route, wide, group)
	now := g.Now()
	for range 3 {
		gatetest.Decide(g, now, gate.Check, "route", "a", 1)
	}
	gatetest.Decide(g, now, gate.Check, "wide", "a", 1)
	got := all(t, g, now, question(gate.Check, "route", "a"), question(gate.Check, "wide", "a"),
		question(gate.Check, "group", "a"))
	if !got.Deny || got.By != 1 || !got.Decisions[0].Deny || got.Decisions[2].Deny {
		t.Errorf("deny %v by %d", got.Deny, got.By)
	}
	got = all(t, g, now, question(gate.Check, "route", "a"), question(gate.Check, "route", "a"))
	if got.By != 0 {
		t.Errorf("of equals number %d answers, want the first", got.By)
	}
}

func TestFlagsDecideTogether(t *testing.T) {
	for _, c := range []struct {
		name   string
		action mitigation.Action
		deny   bool
	}{{"block", mitigation.Block, true}, {"allow", mitigation.Allow, false}} {
		t.Run(c.name, func(t *testing.T) {
			g := gatetest.New(t, 1<<20, group, route)
			now := g.Now()
			for range 3 {
				gatetest.Decide(g, now, gate.Check, "route", "a", 1)
			}
			if _, err := g.Override(now, gate.ByHand{
				Rule: "route", Key: []byte("a"),
				Action: c.action, TTL: time.Minute, Who: "t",
			}); err != nil {
				t.Fatal(err)
			}
			got := all(t, g, now, question(gate.Check, "group", "a"),
				question(gate.Check, "route", "a"))
			if got.Deny != c.deny {
				t.Errorf("deny %v", got.Deny)
			}
			want := int64(10)
			if !c.deny {
				want = 9
			}
			if n := left(g, now, "group", "a"); n != want {
				t.Errorf("the group has %d left, want %d", n, want)
			}
		})
	}
}

func TestShadowDeniesNothingTogether(t *testing.T) {
	shadowed := question(gate.Check, "route", "a")
	shadowed.Shadow = true
	g := gatetest.New(t, 1<<20, group, route, gatetest.Shadow)
	now := g.Now()
	for k := range 5 {
		got := all(t, g, now, question(gate.Check, "group", "a"), shadowed,
			question(gate.Check, "shadow", "a"))
		if got.Deny || got.Shadow != (k >= 3) || got.By != 0 {
			t.Errorf("request %d: deny %v, shadow %v, by %d", k, got.Deny, got.Shadow, got.By)
		}
	}
	if n := left(g, now, "group", "a"); n != 5 {
		t.Errorf("the group has %d left, want 5", n)
	}
	if f, _, _ := g.Observation("route"); f.Totals.Requests[gate.OutcomeShadowed] != 2 ||
		f.Totals.Refused() != 0 {
		t.Errorf("figures: %+v", f.Totals)
	}
}

// What only a report counts denies nothing, and blocks its key when it reaches the limit; a look
// denies, and blocks nobody.
func TestReportsBlockLooksDoNot(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	for k := range 5 {
		if got := all(t, g, now, question(gate.Count, "block", "a")); got.Deny {
			t.Fatalf("report %d denied", k)
		}
		got := all(t, g, now, question(gate.Peek, "block", "a"), question(gate.Peek, "block", "b"))
		why := [...]mitigation.Why{
			0, 0, mitigation.ByBlock, mitigation.ByBlock,
			mitigation.ByBlock,
		}[k]
		if got.Deny != (k >= 2) || got.Decisions[0].Why != why {
			t.Fatalf("look %d: %+v", k, got.Decisions[0])
		}
	}
}

func TestAnUnknownRuleCountsNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, group)
	together := gate.Together{N: 2}
	together.Questions[0], together.Questions[1] = question(gate.Check, "group", "a"),
		question(gate.Check, "none", "a")
	b := g.Lane(0).Batch(g.Now(), rand.Uint64)
	if err := b.All(&together); !errors.Is(err, gate.ErrUnknownRule) {
		t.Fatal(err)
	}
	if n := g.Offered(g.Now(), []byte("group"), []byte("a")); n != 0 {
		t.Errorf("%d were counted", n)
	}
}

// TestTogetherUnderConcurrency runs 1,000,000 requests of two to eight rules on all cores: each
// rule's slots hold what passed.
func TestTogetherUnderConcurrency(t *testing.T) {
	const rules, workers = 8, 4
	names := [rules]string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"}
	var in []mitigation.Rule
	for k, name := range names {
		in = append(in, mitigation.Rule{
			Name:  name,
			Limit: int64(20_000 + 5_000*k), Window: time.Hour,
		})
	}
	g := gatetest.New(t, 32<<20, in...)
	now, each := g.Now(), edgetest.Rounds(25_000, 250_000)
	var passed [rules]atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1)) // small
			b := g.Lane(w).Batch(now, rng.Uint64)
			var together gate.Together
			for range each {
				set := rng.Uint32() | 1<<rng.Uint32N(8) | 1<<rng.Uint32N(8)
				together.N = 0
				for k := range rules {
					if set>>k&1 == 1 {
						together.Questions[together.N] = gate.Question{Ask: gate.Ask{Rule: []byte(
							names[k]), Key: []byte("a")}, At: k}
						together.N++
					}
				}
				if b.All(&together) == nil && !together.Deny {
					for k := range rules {
						passed[k].Add(int64(set >> k & 1))
					}
				}
			}
		})
	}
	wg.Wait()
	for k, name := range names {
		if used := in[k].Limit - left(g, now, name, "a"); used != passed[k].Load() {
			t.Errorf("%s: the slot holds %d, %d passed", name, used, passed[k].Load())
		}
	}
}

func TestTogetherAllocatesNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, group, route)
	b := g.Lane(0).Batch(g.Now(), rand.Uint64)
	together := gate.Together{N: 2}
	together.Questions[0], together.Questions[1] = question(gate.Check, "group", "a"),
		question(gate.Check, "route", "a")
	if n := testing.AllocsPerRun(100, func() { _ = b.All(&together) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTogether(b *testing.B) {
	for _, n := range []int{1, 2, 4} {
		for _, limit := range []int64{1e9, 100} {
			b.Run(map[bool]string{
				true:  "allowed",
				false: "denied",
			}[limit > 100]+"-"+string(rune('0'+n)), func(b *testing.B) {
				g := gatetest.New(b, 64<<20, mitigation.Rule{
					Name: "a", Limit: 1e9,
					Window: time.Minute,
				}, mitigation.Rule{
					Name: "b", Limit: 1e9,
					Window: time.Minute,
				},
					mitigation.Rule{Name: "c", Limit: 1e9, Window: time.Minute},
					mitigation.Rule{Name: "d", Limit: limit, Window: time.Minute})
				batch := g.Lane(0).Batch(g.Now(), rand.Uint64)
				together := gate.Together{N: n}
				for k := range n {
					at := 4 - n + k
					together.Questions[k] = gate.Question{Ask: gatetest.Ask(gate.Check,
						string(rune('a'+at)), "203.0.113.7", 1), At: at}
				}
				for b.Loop() {
					_ = batch.All(&together)
				}
			})
		}
	}
}
