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
func restoreFlags(
	t *testing.T, g *gate.Gate, now window.Instant, rule mitigation.Rule, flags ...snapshot.Flag,
) {
	t.Helper()
	s := gate.Snapshot{
		Written: g.Wall(now).UnixMicro(),
		Rules:   []snapshot.Rule{{Name: rule.Name, Window: rule.Window}}, Flags: flags,
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
	if got := ask(g, now, gate.Check, gatetest.Block.Name, key,
		uint32(gatetest.Block.Limit)); got.Deny {
		t.Fatalf("within the limit: %+v", got)
	}
}

// TestBlockNotBegunIsNotAnswered checks the answer to a refusal whose block did not get into the
// flag table: it gives the time until the window has room, because no block will be enforced. The
// next refusal begins the block.
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
	if got := ask(g, now.Add(2*time.Second), gate.Check, gatetest.Block.Name, "k",
		1); got.Why != mitigation.ByLimit || got.Retry != 60*time.Second {
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
		got := ask(g, now.Add(time.Duration(after)*time.Second), gate.Check,
			gatetest.Block.Name, "k", 1)
		if got.Why != mitigation.ByLimit || got.Retry != time.Duration(10-after)*time.Second {
			t.Errorf("after %d s: %+v, want retry %d", after, got, 10-after)
		}
	}
}

// TestRetryOutlastsAShortBlock: where the block ends before the window has room, the answer says
// when the window has room, whoever refuses: a client that waits as long as it was told is let in.
func TestRetryOutlastsAShortBlock(t *testing.T) {
	short := gatetest.Block
	short.BlockFor = 2 * time.Second
	g := gatetest.New(t, 1<<20, short)
	start := g.Now()
	useUp(t, g, start, "k")
	for after := range 10 {
		now, left := start.Add(time.Duration(after)*time.Second),
			time.Duration(10-after)*time.Second
		for _, op := range []gate.Op{gate.Peek, gate.Check} {
			if got := ask(g, now, op, short.Name, "k", 1); !got.Deny ||
				got.Retry != left || got.Reset != left {
				t.Errorf("op %d after %d s: %+v, want retry and reset %s", op, after, got, left)
			}
			got := all(t, g, now, gate.Question{Ask: gatetest.Ask(op, short.Name,
				"k", 1)}).Decisions[0]
			if !got.Deny || wholeSeconds(got.Retry) != left || wholeSeconds(got.Reset) != left {
				t.Errorf("together, op %d after %d s: %+v, want retry and reset %s",
					op, after, got, left)
			}
		}
	}
	if got := ask(g, start.Add(12*time.Second), gate.Check, short.Name, "k", 1); got.Deny {
		t.Errorf("after the window: %+v", got)
	}
}

// TestShadowSaysWhenABlockEnds: with nothing remaining a key has something to wait for, also where
// only shadow lets it pass.
func TestShadowSaysWhenABlockEnds(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shadow)
	now := g.Now()
	h := gate.ByHand{
		Rule: gatetest.Shadow.Name, Key: []byte("k"), Action: mitigation.Block,
		TTL: 4 * time.Second, Who: "me",
	}
	if _, err := g.Override(now, h); err != nil {
		t.Fatal(err)
	}
	for _, op := range []gate.Op{gate.Peek, gate.Check} {
		if got := ask(g, now, op, gatetest.Shadow.Name, "k", 1); got.Deny || !got.Shadow ||
			got.Remaining != 0 || got.Reset != 4*time.Second {
			t.Errorf("op %d: %+v, want nothing remaining for 4s", op, got)
		}
	}
}
