package mitigation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

var ladder = mitigation.Rule{
	Name: "login", Limit: 5, Window: time.Minute, Action: mitigation.Block, BlockFor: time.Minute,
	Ladder: mitigation.Ladder{
		Steps:  []time.Duration{time.Minute, 10 * time.Minute, time.Hour},
		Forget: 2 * time.Hour,
	},
}

func blockOf(i sketch.Index, now window.Instant) mitigation.Flag {
	return mitigation.Flag{Index: i, Rule: "login", Key: []byte(fmt.Sprint(i)), Since: now}
}

// TestLadder: each block of a key lasts a step longer, up to the last; after forget_after without
// one the key begins again; who lifts a block forgives.
func TestLadder(t *testing.T) {
	t.Parallel()
	table := mitigation.NewTable(1 << 16)
	keep := func(*mitigation.Flag) bool { return true }
	now := window.Instant(time.Hour)
	for n, want := range []time.Duration{time.Minute, 10 * time.Minute, time.Hour, time.Hour} {
		if !table.TryPutBlock(now, blockOf(7, now), &ladder) {
			t.Fatal("the table is full")
		}
		if got := table.Get(now, 7).Blocks(now); got != want {
			t.Fatalf("block %d lasts %s, want %s", n+1, got, want)
		}
		if strikes, _ := table.Strikes(now, 7); strikes != n+1 {
			t.Fatalf("block %d: %d strikes", n+1, strikes)
		}
		// a second one who saw it
		table.PutBlock(now.Add(time.Second), blockOf(7, now.Add(time.Second)), &ladder)
		if strikes, _ := table.Strikes(now, 7); strikes != n+1 {
			t.Fatalf("block %d counted twice", n+1)
		}
		now = now.Add(want + 2*time.Second)
		table.Sweep(now, keep)
		if table.Get(now, 7).Live() || table.Stats().Flags != 0 {
			t.Fatalf("block %d did not end", n+1)
		}
		now = now.Add(time.Hour)
		table.Sweep(now, keep)
	}
	now = now.Add(time.Hour + 2*time.Second)
	if strikes, _ := table.Strikes(now, 7); strikes != 0 {
		t.Errorf("%d strikes after forget_after", strikes)
	}
	table.Sweep(now, keep)
	table.PutBlock(now, blockOf(7, now), &ladder)
	if got := table.Get(now, 7).Blocks(now); got != time.Minute {
		t.Errorf("after forget_after the block lasts %s", got)
	}
	table.Lift(now, 7)
	table.PutBlock(now, blockOf(7, now), &ladder)
	if got := table.Get(now, 7).Blocks(now); got != time.Minute {
		t.Errorf("after a lifted one the block lasts %s", got)
	}
	if s := table.Stats(); s.Flags != 1 || s.Expired != 4 {
		t.Errorf("%+v", s)
	}
}

// TestStrikesYield: strikes of ended blocks give up their places to flags, the first to be
// forgotten first; and a flag of another kind keeps them.
func TestStrikesYield(t *testing.T) {
	t.Parallel()
	table := mitigation.NewTable(0) // eight places
	now := window.Instant(time.Hour)
	for i := range sketch.Index(8) {
		table.PutBlock(now, blockOf(i+1, now.Add(time.Duration(i))), &ladder)
	}
	now = now.Add(2 * time.Minute)
	table.Sweep(now, func(*mitigation.Flag) bool { return true })
	if s := table.Stats(); s.Flags != 0 || s.Forgotten != 0 {
		t.Fatalf("%+v", s)
	}
	shed := mitigation.Flag{
		Index: 3, Rule: "login", Key: []byte("3"), Action: mitigation.Shed,
		Since: now, Until: now.Add(time.Minute),
	}
	if !table.Put(now, shed) {
		t.Fatal("no place")
	}
	if strikes, _ := table.Strikes(now, 3); strikes != 1 {
		t.Error("another flag took the strikes away")
	}
	shed.Index = 100
	if !table.Put(now, shed) || table.Stats().Forgotten != 1 {
		t.Fatal("no place was given up")
	}
	if strikes, _ := table.Strikes(now, 1); strikes != 0 {
		t.Error("the first to be forgotten is still there")
	}
	if strikes, _ := table.Strikes(now, 2); strikes != 1 {
		t.Error("another was forgotten")
	}
	if s := table.Stats(); s.Flags != 2 || s.Evicted != 0 {
		t.Errorf("%+v", s)
	}
}

// TestRemember: strikes return with a restart, beside a flag that is there, and never for a live
// flag of another key.
func TestRemember(t *testing.T) {
	t.Parallel()
	table := mitigation.NewTable(0)
	now := window.Instant(time.Hour)
	was := blockOf(7, now)
	was.Action, was.Strikes, was.Forget = mitigation.Block, 2, now.Add(time.Minute)
	if !table.Remember(now, was) {
		t.Fatal("no place")
	}
	table.PutBlock(now, blockOf(7, now), &ladder)
	if got := table.Get(now, 7).Blocks(now); got != time.Hour {
		t.Errorf("the third block lasts %s", got)
	}
	was.Strikes = 5
	if !table.Remember(now, was) {
		t.Error("not beside its flag")
	}
	if strikes, _ := table.Strikes(now, 7); strikes != 5 {
		t.Errorf("%d strikes", strikes)
	}
	for i := range sketch.Index(8) {
		table.PutBlock(now, blockOf(i+20, now), &ladder)
	}
	if was.Index = 8; table.Remember(now, was) {
		t.Error("a live flag gave up its place")
	}
	was.Forget = now
	if table.Remember(now, was) {
		t.Error("forgotten strikes were remembered")
	}
}
