package gate_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// peers are two gates, each of which hands its overrides to the other at once.
func peers(t *testing.T, rules ...mitigation.Rule) (a, b *gate.Gate) {
	t.Helper()
	start := time.Now()
	join := func(node string, other **gate.Gate) *gate.Gate {
		return gate.New(gate.Options{
			Node: node, Memory: 1 << 20, Rules: rules, Flush: flushEvery,
			Start: start, Global: &gate.Global{
				Publish: func(record []byte) { (*other).MergeOverride(record) },
				Peers:   func() bool { return true },
			},
		})
	}
	a = join("a", &b)
	b = join("b", &a)
	return a, b
}

func byHand(rule, key string, action mitigation.Action) gate.ByHand {
	return gate.ByHand{
		Rule: rule, Key: []byte(key), Action: action, TTL: time.Hour,
		Who: "ann", Reason: "why not",
	}
}

func TestOverrideReplacesAndLasts(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	gatetest.Refuse(g, "block", "k")
	now := g.Now()
	f, err := g.Override(now, byHand("block", "k", mitigation.Allow))
	if err != nil || f.Source != mitigation.Manual || f.Origin != "ann" || f.Reason != "why not" ||
		f.Until != now.Add(time.Hour) {
		t.Fatalf("%+v, %v", f, err)
	}
	if got := ask(g, now, gate.Check, "block", "k", 3); got.Deny {
		t.Errorf("allowed over its own block: %+v", got)
	}
	short := byHand("block", "k", mitigation.Allow)
	short.TTL = 5 * time.Second
	if f, err := g.Override(now, short); err != nil || f.Until != now.Add(5*time.Second) {
		t.Errorf("a shorter allow over a longer one: %+v, %v", f, err)
	}
	if all := flagsOf(g, now); len(all) != 1 || all[0].Until != now.Add(5*time.Second) {
		t.Errorf("%+v, want the shorter allow", all)
	}
	short.Action, short.TTL = mitigation.Block, time.Second
	if _, err := g.Override(now, short); err != nil {
		t.Fatal(err)
	}
	if got := ask(g, now, gate.Check, "block", "k", 1); got.Why != mitigation.ByBlock {
		t.Errorf("a shorter block over a longer allow: %+v", got)
	}
	if got := ask(g, now.Add(11*time.Second), gate.Check, "block", "k", 1); got.Deny {
		t.Errorf("the block is over: %+v", got)
	}
	if is := g.OverrideStats(); is.Held != 1 {
		t.Errorf("%+v, want one override of one key", is)
	}
}

func TestOverrideRefusals(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	if _, err := g.Override(now,
		byHand("none", "k", mitigation.Block)); !errors.Is(err, gate.ErrNoRule) {
		t.Errorf("no such rule: %v", err)
	}
	if f, err := g.Override(now, byHand("block", "10.1.2.3/8", mitigation.Block)); err != nil ||
		string(f.Key) != "10.0.0.0/8" {
		t.Errorf("a network that no request has sent: %s %v", f.Key, err)
	}
	listed := byHand("block", "10.0.0.0/8", mitigation.Block)
	listed.Listed = true
	if _, err := g.Override(now, listed); err != nil {
		t.Errorf("a network from a list: %v", err)
	}
	if _, err := g.Override(now, byHand("block", "10.0.0.0/8", mitigation.Allow)); err != nil {
		t.Errorf("a network that has an override: %v", err)
	}
	if is, ok := g.Lift(now, "block", []byte("10.0.0.0/8"), "ann"); !ok ||
		is.Was.Action != mitigation.Allow {
		t.Fatalf("%+v, %v", is, ok)
	}
	if _, err := g.Override(now, byHand("block", "10.0.0.0/8", mitigation.Block)); err != nil {
		t.Errorf("a network whose override was lifted: %v", err)
	}
	restoreFlags(t, g, now, gatetest.Block, manualBlock(now, []byte("10.1.0.0/16")))
	if _, err := g.Override(now, byHand("block", "10.1.0.0/16", mitigation.Allow)); err != nil {
		t.Errorf("a network that has a flag: %v", err)
	}
	gatetest.Refuse(g, "block", "10.2.0.0/16")
	if _, err := g.Override(now, byHand("block", "10.2.0.0/16", mitigation.Allow)); err != nil {
		t.Errorf("a network that is counted exactly: %v", err)
	}
	if _, err := g.Override(now, byHand("block", "/path/8", mitigation.Block)); err != nil {
		t.Errorf("a path: %v", err)
	}
}

func TestLiftForgivesARefusedKey(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	gatetest.Refuse(g, "block", "k")
	now := g.Now()
	is, ok := g.Lift(now, "block", []byte("k"), "ann")
	if !ok || is.Was.Action != mitigation.Block ||
		is.Was.Source != mitigation.Self || is.Published {
		t.Fatalf("%+v, %v", is, ok)
	}
	if got := ask(g, now, gate.Check, "block", "k", 3); got.Deny {
		t.Errorf("lifted, yet refused by its old count: %+v", got)
	}
	for name, key := range map[string]string{"block": "other", "none": "k"} {
		if is, ok := g.Lift(now, name, []byte(key), "ann"); ok {
			t.Errorf("rule %s, key %s: nothing to lift, yet %+v", name, key, is)
		}
	}
}

// TestLiftOfAnAllowForgivesNothing checks that the cost which an allowed key was admitted counts
// once the allow is lifted.
func TestLiftOfAnAllowForgivesNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	now := g.Now()
	if _, err := g.Override(now, byHand("shed", "k", mitigation.Allow)); err != nil {
		t.Fatal(err)
	}
	ask(g, now, gate.Check, "shed", "k", 3)
	if is, ok := g.Lift(now, "shed", []byte("k"), "ann"); !ok || is.Was.Action != mitigation.Allow {
		t.Fatalf("%+v, %v", is, ok)
	}
	if got := ask(g, now, gate.Check, "shed", "k", 1); got.Why != mitigation.ByLimit {
		t.Errorf("%+v", got)
	}
}

func TestOverrideReachesPeers(t *testing.T) {
	a, b := peers(t, gatetest.Block)
	now := a.Now()
	if _, err := a.Override(now, byHand("block", "k", mitigation.Block)); err != nil {
		t.Fatal(err)
	}
	if got := ask(b, b.Now(), gate.Check, "block", "k", 1); got.Why != mitigation.ByBlock {
		t.Errorf("at the other node: %+v", got)
	}
	all := flagsOf(b, b.Now())
	if len(all) != 1 || all[0].Source != mitigation.Manual ||
		b.FlagContext(b.Now(), &all[0]).Node != "a" {
		t.Errorf("%+v", all)
	}
	if is, ok := b.Lift(b.Now(), "block", []byte("k"), "bob"); !ok || !is.Published {
		t.Errorf("%+v, %v", is, ok)
	}
	if got := ask(a, a.Now(), gate.Check, "block", "k", 1); got.Deny {
		t.Errorf("lifted at the other node: %+v", got)
	}
}

// TestMergeIsNewsOnce checks that a record is passed on once, that garbage is counted, and that an
// override of a rule that is not in force holds from the reload that brings the rule.
func TestMergeIsNewsOnce(t *testing.T) {
	a, _ := peers(t, gatetest.Block, gatetest.Shed)
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	if _, err := a.Override(a.Now(), byHand("block", "k", mitigation.Block)); err != nil {
		t.Fatal(err)
	}
	var records [][]byte
	if left := a.AppendOverrides(func(r []byte) bool {
		records = append(records,
			bytes.Clone(r))
		return true
	}); left != 0 || len(records) != 1 {
		t.Fatalf("%d records, %d left", len(records), left)
	}
	if !g.MergeOverride(records[0]) || g.MergeOverride(records[0]) {
		t.Error("a record is news the first time, and only then")
	}
	if g.MergeOverride([]byte("garbage")) || g.OverrideStats().Bad != 1 {
		t.Errorf("garbage: %+v", g.OverrideStats())
	}
	g.Reload(time.Now(), []mitigation.Rule{gatetest.Shed, gatetest.Block})
	if got := ask(g, g.Now(), gate.Check, "block", "k", 1); got.Why != mitigation.ByBlock {
		t.Errorf("the rule came after its override: %+v", got)
	}
}

func TestAppendOverridesGoesOnWhereItEnded(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	for _, key := range []string{"a", "b", "c"} {
		if _, err := g.Override(g.Now(), byHand("block", key, mitigation.Block)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for range 3 {
		room := 1
		if left := g.AppendOverrides(func(r []byte) bool {
			if room--; room < 0 {
				return false
			}
			seen[string(r)]++
			return true
		}); left != 2 {
			t.Errorf("%d left, want 2", left)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d of 3 overrides were sent in three messages of one", len(seen))
	}
}
