package global

import (
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// newQuietWorld returns a world that is told nothing by a network.
func newQuietWorld(tb testing.TB) *Link {
	tb.Helper()
	cfg := config.Default()
	cfg.Node, cfg.PoP, cfg.Memory, cfg.Rules = "a", "lhr", 1<<20, simRules
	cfg.Gossip.Bind = config.Address{Host: "127.0.0.1"}
	w := New(Options{
		Node: cfg.Node, PoP: cfg.PoP, Flush: cfg.Ring.Flush, Bind: "127.0.0.1:0",
		Keys: [][]byte{make([]byte, gossip.KeyBytes)},
		Log:  slog.New(slog.DiscardHandler),
	})
	w.Attach(gate.New(gateOptions(&cfg, w.Hooks())))
	return w
}

// aWord is an operator's word of login's key.
func aWord(key string) override.Override {
	now := time.Now().UnixMilli()
	return override.Override{
		Rule: "login", Key: []byte(key), Verb: override.Block, Node: "b", Who: "op", Issued: now,
		Until: now + 60_000, Keep: now + 60_000,
	}
}

// statePart is a part of a state.
func statePart(text string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(text))), text...)
}

// TestStateOfOtherVersions: parts of later builds, and empty ones, are passed over and counted, and
// the parts behind them are taken.
func TestStateOfOtherVersions(t *testing.T) {
	w := newQuietWorld(t)
	word := aWord("new")
	state := append(statePart("?of a later build"), statePart("")...)
	state = append(state, statePart("w"+string(override.Append(nil, &word)))...)
	state = append(state, 200, 1, 'w')
	w.merge(state)
	words := 0
	w.gate.AppendOverrides(func([]byte) bool { words++; return true })
	if words != 1 || w.dropped(nil)["kind"] != 3 {
		t.Errorf("%d words taken, want 1; %d parts counted as not read, want 3", words,
			w.dropped(nil)["kind"])
	}
}

// FuzzMergeState: whatever a member sends as its state, the node stands, and takes in its own state
// afterwards.
func FuzzMergeState(f *testing.F) {
	w := newQuietWorld(f)
	word := aWord("k")
	w.gate.MergeOverride(override.Append(nil, &word))
	f.Add(w.state(true))
	f.Add(statePart("t\x00"))
	f.Add(statePart("t\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a"))
	f.Fuzz(func(t *testing.T, state []byte) {
		w.merge(state)
		if own := w.state(true); len(own) > gossip.MaxState {
			t.Errorf("a state of %d bytes", len(own))
		}
	})
}
