package gate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/snapshot"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// restoreFlags puts flags of rule into g's table at now, as a restart would.
func restoreFlags(t *testing.T, g *gate.Gate, now window.Instant, rule mitigation.Rule, flags ...snapshot.Flag) {
	t.Helper()
	s := gate.Snapshot{
		Written: g.Wall(now).UnixMicro(), Rules: []snapshot.Rule{{Name: rule.Name, Window: rule.Window}}, Flags: flags,
	}
	if is, err := g.Restore(now, &s, 0); err != nil || is.Flags == 0 {
		t.Fatalf("%+v, %v", is, err)
	}
}

// manualBlock returns a block of key by an operator, for an hour from now.
func manualBlock(now window.Instant, key []byte) snapshot.Flag {
	return snapshot.Flag{
		Key: key, Action: mitigation.Block, Source: mitigation.Manual,
		Since: now.Time().UnixMicro(), Until: now.Add(time.Hour).Time().UnixMicro(),
	}
}

// useUp asks for the whole limit of gatetest.Block under key, so that the next request is refused.
func useUp(t *testing.T, g *gate.Gate, now window.Instant, key string) {
	t.Helper()
	if got := ask(g, now, gate.Check, gatetest.Block.Name, key, uint32(gatetest.Block.Limit)); got.Deny {
		t.Fatalf("within the limit: %+v", got)
	}
}

// TestBlockNotBegunIsNotAnswered checks the answer to a refusal whose block did not get into the flag
// table: it gives the time until the window has room, because no block will be enforced. The next
// refusal begins the block.
func TestBlockNotBegunIsNotAnswered(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	restoreFlags(t, g, now, gatetest.Block, manualBlock(now, []byte("other")))
	useUp(t, g, now, "k")
	var refused gate.Decision
	g.EachFlag(now, func(*mitigation.Flag) bool { // the table is locked meanwhile
		refused = ask(g, now.Add(time.Second), gate.Check, gatetest.Block.Name, "k", 1)
		return false
	})
	if !refused.Deny || refused.Why != mitigation.ByLimit || refused.Retry != 9*time.Second {
		t.Errorf("no block began, yet the answer is %+v, want retry 9", refused)
	}
	if got := ask(g, now.Add(2*time.Second), gate.Check, gatetest.Block.Name, "k", 1); got.Why != mitigation.ByLimit || got.Retry != 60*time.Second {
		t.Errorf("the block began: %+v, want retry 60", got)
	}
}

// TestBlockWithoutRoomIsNotAnswered checks the same with a table full of flags that are worth more.
func TestBlockWithoutRoomIsNotAnswered(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	now := g.Now()
	flags := make([]snapshot.Flag, 200_000) // enough for every bucket of the table
	for n := range flags {
		flags[n] = manualBlock(now, fmt.Appendf(nil, "manual-%d", n))
	}
	restoreFlags(t, g, now, gatetest.Block, flags...)
	if s := g.FlagStats(); s.Flags != s.Capacity {
		t.Fatalf("%d of %d places are taken", s.Flags, s.Capacity)
	}
	useUp(t, g, now, "k")
	for after := range 3 {
		got := ask(g, now.Add(time.Duration(after)*time.Second), gate.Check, gatetest.Block.Name, "k", 1)
		if got.Why != mitigation.ByLimit || got.Retry != time.Duration(10-after)*time.Second {
			t.Errorf("after %d s: %+v, want retry %d", after, got, 10-after)
		}
	}
}
