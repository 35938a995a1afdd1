package gate_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

var (
	limited  = mitigation.Rule{Name: "r", Limit: 5, Window: time.Minute}
	bucketed = mitigation.Rule{
		Name: "tokens", Kind: mitigation.Bucket, Limit: 60, Window: time.Minute, Burst: 4,
	}
	golden = mitigation.Rule{Name: "plans@gold", Limit: 7, Window: time.Minute}
)

// passing returns how many of 40 requests pass at now.
func passing(g *gate.Gate, now window.Instant, rule, key string) (n int) {
	for range 40 {
		if !ask(g, now, gate.Check, rule, key, 1).Deny {
			n++
		}
	}
	return n
}

// limit sets the limit of a key for an hour.
func limit(t *testing.T, g *gate.Gate, rule, key string, n mitigation.Number) gate.LimitSet {
	t.Helper()
	return limitAs(t, g, gate.LimitByHand{
		Rule: rule, Key: []byte(key), Number: n, TTL: time.Hour, Who: "ann",
	})
}

func limitAs(t *testing.T, g *gate.Gate, h gate.LimitByHand) gate.LimitSet {
	t.Helper()
	set, at, err := g.SetLimits(g.Now(), []gate.LimitByHand{h})
	if err != nil {
		t.Fatalf("%d: %v", at, err)
	}
	return set[0]
}

// TestLimitsByHand: the last limit counts, from the next request on, with what was admitted; for a
// key, the smallest network, the number of a table, everybody, in this order.
func TestLimitsByHand(t *testing.T) {
	t.Parallel()
	numbered := mitigation.Rule{Name: "n", Limit: 5, Window: time.Minute}
	list := []mitigation.Number{{Limit: 12}}
	numbered.Numbers = &mitigation.Numbers{Set: "t", List: list, Find: func(key []byte) int {
		if string(key) == "known" || string(key) == "10.1.1.9" {
			return 0
		}
		return -1
	}}
	g := gatetest.New(t, 1<<20, limited, bucketed, golden, numbered)
	now := g.Now()
	if got := passing(g, now, "r", "k"); got != 5 {
		t.Fatalf("%d pass", got)
	}
	if set := limit(t, g, "r", "k", mitigation.Number{Limit: 8}); set.Before != 5 {
		t.Errorf("before: %d", set.Before)
	}
	if set := limit(t, g, "r", "k", mitigation.Number{Limit: 9}); set.Before != 8 {
		t.Errorf("before: %d", set.Before)
	}
	limit(t, g, "n", "*", mitigation.Number{Limit: 20})
	limit(t, g, "n", "10.0.0.0/8", mitigation.Number{Limit: 15})
	limit(t, g, "n", "10.1.0.0/16", mitigation.Number{Limit: 3})
	limit(t, g, "n", "10.1.1.1", mitigation.Number{Limit: 1})
	limit(t, g, "plans", "k", mitigation.Number{Limit: 11})
	limit(t, g, "tokens", "k", mitigation.Number{Limit: 60, Burst: 6})
	for _, is := range []struct {
		rule, key, source string
		want              int
	}{
		{"r", "k", "override:ann", 4},
		{"r", "other", "rule", 5},
		{"n", "somebody", "override:ann", 20},
		{"n", "known", "table:t", 12},
		{"n", "10.1.1.1", "override:ann", 1},
		{"n", "10.1.1.9", "override:ann", 3},
		{"n", "10.9.9.9", "override:ann", 15},
		{"plans@gold", "k", "override:ann", 11},
		{"plans@gold", "other", "tier:gold", 7},
		{"tokens", "k", "override:ann", 6},
	} {
		if got := passing(g, now, is.rule, is.key); got != is.want {
			t.Errorf("%s %s: %d pass, want %d", is.rule, is.key, got, is.want)
		}
		in, _ := g.Inspect(now, 0, is.rule, []byte(is.key), nil)
		if in.Source != is.source || (in.Ends != 0) != (is.source == "override:ann") {
			t.Errorf("%s %s: %s, ends %d, want %s", is.rule, is.key, in.Source, in.Ends, is.source)
		}
	}
	if !g.UnsetLimit(now, "r", []byte("k"), "ann") || g.UnsetLimit(now, "r", []byte("k"), "ann") {
		t.Error("a limit is ended once")
	}
	if got := passing(g, now, "r", "k"); got != 0 {
		t.Errorf("%d more than the limit pass", got)
	}
	if all := g.Limits(now); len(all) != 6 {
		t.Errorf("%d are held", len(all))
	}
}

// TestLimitEnds: a limit ends to the millisecond, whatever sweeps, and what was admitted stays.
func TestLimitEnds(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 1<<20, limited)
	now := g.Now()
	set := limitAs(t, g, gate.LimitByHand{
		Rule: "r", Key: []byte("k"), Number: mitigation.Number{Limit: 30}, TTL: 10 * time.Second,
		Who: "ann",
	})
	end := g.At(time.Now()).Add(time.UnixMilli(set.Until).Sub(g.Wall(g.At(time.Now()))))
	if got := passing(g, now, "r", "k"); got != 30 {
		t.Errorf("%d pass", got)
	}
	is, _ := g.Inspect(end.Add(-2*time.Millisecond), 0, "r", []byte("k"), nil)
	if is.Rule.Limit != 30 || is.Source != "override:ann" {
		t.Errorf("before the end: %d, %s", is.Rule.Limit, is.Source)
	}
	is, _ = g.Inspect(end.Add(2*time.Millisecond), 0, "r", []byte("k"), nil)
	if is.Rule.Limit != 5 || is.Source != "rule" || is.Count.Used != 30 {
		t.Errorf("after the end: %d, %s, %d used", is.Rule.Limit, is.Source, is.Count.Used)
	}
	if d := ask(g, end.Add(2*time.Millisecond), gate.Check, "r", "k", 1); !d.Deny ||
		d.Retry < 40*time.Second {
		t.Errorf("after the end: denied %v, retry %v", d.Deny, d.Retry)
	}
}

// TestLimitsOfOthers: two nodes hold the same limits by the next turn, a node that was away after a
// merge, and a node that restarts.
func TestLimitsOfOthers(t *testing.T) {
	t.Parallel()
	a, b := peers(t, limited)
	limit(t, a, "r", "k", mitigation.Number{Limit: 9})
	limit(t, b, "r", "10.0.0.0/8", mitigation.Number{Limit: 2})
	for _, g := range []*gate.Gate{a, b} {
		now := g.Now()
		g.Turn(1, now, time.Now())
		for key, want := range map[string]int{"k": 9, "10.1.1.1": 2, "else": 5} {
			if got := passing(g, now, "r", key); got != want {
				t.Errorf("%s: %s: %d pass, want %d", g.Node(), key, got, want)
			}
		}
	}
	late := gatetest.New(t, 1<<20, limited)
	a.AppendOverrides(func(record []byte) bool {
		late.MergeOverride(record)
		return true
	})
	again := gatetest.New(t, 1<<20, limited)
	if _, err := again.Restore(again.Now(), a.Snapshot(a.Now(), true), 0); err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*gate.Gate{"late": late, "again": again} {
		g.Turn(1, g.Now(), time.Now())
		if all := g.Limits(g.Now()); len(all) != 2 {
			t.Errorf("%s holds %d", name, len(all))
		}
	}
	if got := passing(late, late.Now(), "r", "k"); got != 9 {
		t.Errorf("late: %d pass", got)
	}
	if got := passing(again, again.Now(), "r", "k"); got != 0 { // its count was kept too
		t.Errorf("again: %d pass", got)
	}
	if !b.UnsetLimit(b.Now(), "r", []byte("k"), "bob") {
		t.Error("none there")
	}
	a.Turn(2, a.Now(), time.Now())
	if all := a.Limits(a.Now()); len(all) != 1 {
		t.Errorf("%d are held after the end", len(all))
	}
}

// TestLimitsRefused: what cannot be is refused whole, with its place.
func TestLimitsRefused(t *testing.T) {
	t.Parallel()
	global := mitigation.Rule{
		Name: "g", Limit: 5, Window: time.Minute, Scope: mitigation.Global,
	}
	g, _ := peers(t, limited, global, bucketed)
	one := func(rule string, burst int64) gate.LimitByHand {
		return gate.LimitByHand{
			Rule: rule, Key: []byte("k"), Number: mitigation.Number{Limit: 9, Burst: burst},
			TTL: time.Hour, Who: "ann",
		}
	}
	for _, is := range []struct {
		bad  gate.LimitByHand
		want error
	}{
		{one("none", 0), gate.ErrNoRule},
		{one("r", 3), gate.ErrBurst},
		{one("g", 3), gate.ErrBurst},
	} {
		_, at, err := g.SetLimits(g.Now(), []gate.LimitByHand{one("r", 0), is.bad})
		if at != 1 || !errors.Is(err, is.want) || len(g.Limits(g.Now())) != 0 {
			t.Errorf("%+v: %d, %v", is.bad, at, err)
		}
	}
	var many []gate.LimitByHand
	for i := range override.MaxHeld + 1 {
		is := one("r", 0)
		is.Key = fmt.Appendf(nil, "k%d", i)
		many = append(many, is)
	}
	if _, _, err := g.SetLimits(g.Now(), many); !errors.Is(err, gate.ErrNoRoom) {
		t.Errorf("too many: %v", err)
	}
	if set, _, err := g.SetLimits(g.Now(), many[1:]); err != nil || len(set) != override.MaxHeld {
		t.Errorf("%d, %v", len(set), err)
	}
}

// TestLimitsAllocateNothing: a key, a network and everybody.
func TestLimitsAllocateNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, limited)
	limit(t, g, "r", "k", mitigation.Number{Limit: 900})
	limit(t, g, "r", "10.0.0.0/8", mitigation.Number{Limit: 800})
	limit(t, g, "r", "*", mitigation.Number{Limit: 700})
	b := g.Lane(0).Batch(g.Now(), func() uint64 { return 7 })
	for _, key := range []string{"k", "10.1.2.3", "else"} {
		var d gate.Decision
		a := gatetest.Ask(gate.Check, "r", key, 1)
		if n := testing.AllocsPerRun(500, func() {
			if err := b.Decide(&d, &a); err != nil || d.Deny {
				t.Errorf("%s: %+v, %v", key, d, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", key, n)
		}
	}
}
