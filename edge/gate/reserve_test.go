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

// fleet keeps parts of its limit of 100 for two tiers.
var fleet = mitigation.Rule{
	Name: "fleet", Limit: 100, Window: time.Second,
	Reserve: []mitigation.Share{{Tier: "critical", Part: 2000}, {Tier: "normal", Part: 1050}},
}

// tiered asks cost of key under rule, as a request of tier.
//
//nolint:revive // a question in one line
func tiered(
	t testing.TB, g *gate.Gate, now window.Instant, rule, tier string, cost uint32,
) gate.Decision {
	t.Helper()
	a := gatetest.Ask(gate.Check, rule, "all", cost)
	a.Tier = []byte(tier)
	d, err := g.Lane(0).Decide(now, rand.Uint64(), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Each tier gets the limit but for the shares before it, to the unit, and so do places.
func TestEachTierHasItsPartOfTheLimit(t *testing.T) {
	places := exports
	places.Limit, places.Reserve = 100, fleet.Reserve
	for tier, want := range map[string]int64{"critical": 100, "normal": 80, "batch": 69, "": 69} {
		g := gatetest.New(t, 1<<20, fleet, places)
		now := g.Now()
		for n := range want {
			if d := tiered(t, g, now, "fleet", tier, 1); d.Deny || d.Remaining != want-n-1 {
				t.Fatalf("%q, request %d: %+v", tier, n, d)
			}
		}
		d := tiered(t, g, now, "fleet", tier, 1)
		why := mitigation.ByReserve
		if want == 100 {
			why = mitigation.ByLimit
		}
		if !d.Deny || d.Why != why || d.Retry != time.Second || d.Remaining != 0 {
			t.Errorf("%q: %+v", tier, d)
		}
		if d = tiered(t, g, now, "fleet", "critical", uint32(100-want)+1); !d.Deny ||
			d.Why != mitigation.ByLimit {
			t.Errorf("one more than the limit: %+v", d)
		}
		a := gatetest.Ask(gate.Acquire, "exports", "all", uint32(want))
		a.Tier = []byte(tier)
		if d, _ := g.Lane(0).Decide(now, 7, a); d.Deny || d.Remaining != 0 {
			t.Errorf("%d places: %+v", want, d)
		}
		a.Cost = 1
		if d, _ := g.Lane(0).Decide(now, 7, a); !d.Deny || d.Why != why {
			t.Errorf("%d places and one: %+v", want, d)
		}
	}
}

// What critical traffic uses counts for all: the others pass up to 80 in the window, it among them.
// Critical traffic of a fifth of the limit is never denied while the rest asks for five times the
// limit, whatever the memory; and what passes in all is never above the limit.
func TestCriticalTrafficIsNotDeniedBelowTheLimit(t *testing.T) {
	rule := fleet
	rule.Window, rule.Reserve, rule.Action, rule.BlockFor = 10*time.Second, rule.Reserve[:1],
		mitigation.Block, time.Hour
	g := gatetest.New(t, 1<<20, rule)
	start, chance := g.Now(), rand.New(rand.NewPCG(1, 6))
	log := window.NewLog(rule.Window, time.Microsecond)
	denied, critical, others := 0, int64(0), 0
	for ms := range 60_000 {
		now := start.Add(time.Duration(ms) * time.Millisecond)
		if ms%500 == 0 { // 20 in 10 s
			if d := tiered(t, g, now, "fleet", "critical", 1); d.Deny {
				t.Fatalf("critical is denied at %d ms with %d in the window: %+v", ms,
					log.Admitted(now), d)
			}
			critical++
			log.Admit(now, 1)
		}
		if chance.IntN(20) == 0 { // 500 in 10 s
			if d := tiered(t, g, now, "fleet", "", 1); d.Deny {
				if denied++; d.Why != mitigation.ByReserve {
					t.Fatalf("%+v", d)
				}
			} else {
				others++
				log.Admit(now, 1)
			}
		}
		if n := log.Admitted(now); n > rule.Limit {
			t.Fatalf("%d in the window", n)
		}
	}
	if critical != 120 || denied < 2000 || others < 340 || others > 400 {
		t.Errorf("%d critical and %d others passed, %d others denied", critical, others, denied)
	}
	f, _, _ := g.Observation("fleet")
	if n := f.Totals.Requests[gate.OutcomeReserved]; n != uint64(denied) {
		t.Errorf("%d counted as denied by the reserve, want %d", n, denied)
	}
}

// A key without a slot that comes near to what is open to it gets one: its tier's part is exact
// even where the memory is full of others.
func TestReserveInAFullMemory(t *testing.T) {
	rule := fleet
	rule.Window, rule.Limit, rule.Reserve = time.Minute, 1000,
		[]mitigation.Share{{Tier: "critical", Part: 9900}}
	g := gatetest.New(t, 1<<20, rule)
	now := g.Now()
	for k := range 20_000 {
		a := gatetest.Ask(gate.Check, "fleet", string(rune('a'+k%26))+string(rune(k)), 1)
		a.Tier = []byte("critical")
		_, _ = g.Lane(0).Decide(now, 7, a)
	}
	passed := 0
	for range 100 {
		if !tiered(t, g, now, "fleet", "", 1).Deny {
			passed++
		}
	}
	if passed < 10 || passed > 12 { // a quarter of it may pass before it has a slot
		t.Errorf("%d passed, want 10", passed)
	}
}

func TestReservedAllocatesNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, fleet)
	now := g.Now()
	a := gatetest.Ask(gate.Check, "fleet", "all", 1)
	a.Tier = []byte("normal")
	// a pool may be emptied
	if n := testing.AllocsPerRun(500, func() { _, _ = g.Lane(0).Decide(now, 7, a) }); n > 0.1 {
		t.Errorf("%v allocations", n)
	}
}
