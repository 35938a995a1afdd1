package gate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

func TestInspect(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block, gatetest.Off)
	now := g.Now()
	gatetest.Refuse(g, "block", "k")
	is, ok := g.Inspect(now, 0, "block", []byte("k"), nil)
	if !ok || is.Rule.Name != "block" || is.Global || is.ViewLost || is.Remote {
		t.Fatalf("%+v, %v", is, ok)
	}
	if is.Flag == nil || is.Flag.Action != mitigation.Block || string(is.Flag.Key) != "k" ||
		is.Flag.Source != mitigation.Self {
		t.Errorf("flag %+v", is.Flag)
	}
	if !is.Evidence.Suspect || is.Evidence.Admitted != 3 || is.Count.Used != 3 || is.Count.Fits {
		t.Errorf("evidence %+v, count %+v", is.Evidence, is.Count)
	}
	if !is.Decision.Deny || is.Decision.Why != mitigation.ByBlock ||
		is.Decision.View != mitigation.Node {
		t.Errorf("decision %+v", is.Decision)
	}
	if is, ok := g.Inspect(now, 0, "block", []byte("unseen"), nil); !ok || is.Flag != nil ||
		is.Decision.Deny || is.Decision.Remaining != 3 {
		t.Errorf("an unseen key: %+v, %v", is, ok)
	}
	if is, ok := g.Inspect(now, 0, "off", []byte("k"), nil); !ok || is.Decision.Deny {
		t.Errorf("a rule that is off: %+v, %v", is, ok)
	}
	if _, ok := g.Inspect(now, 0, "none", []byte("k"), nil); ok {
		t.Error("a rule that is not in force was inspected")
	}
}

// TestInspectCountsNothing inspects a key more often than its limit allows requests.
func TestInspectCountsNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	now := g.Now()
	for range 10 {
		g.Inspect(now, 0, "shed", []byte("k"), nil)
	}
	if _, ok := g.SuspectSince([]byte("shed"), []byte("k")); ok {
		t.Error("an inspection had the key counted exactly")
	}
	if got := ask(g, now, gate.Check, "shed", "k", 3); got.Deny {
		t.Errorf("%+v", got)
	}
	if is, _, _ := g.Observation("shed"); is.Totals.Offered() != 3 {
		t.Errorf("offered %d", is.Totals.Offered())
	}
}

func TestInspectTellsALostView(t *testing.T) {
	w := newGlobalNode(t, 0, globalRule(5, time.Minute))
	for _, c := range []struct {
		connected, lost, want bool
	}{{true, false, false}, {false, false, false}, {false, true, true}} {
		w.SetGlobalState(c.connected, c.lost)
		is, ok := w.Inspect(w.now, 0, "r", []byte("k"), nil)
		if !ok || !is.Global || is.ViewLost != c.want || is.Remote != c.want {
			t.Errorf("connected %v, lost %v: %+v", c.connected, c.lost, is)
		}
	}
}

func TestFlagContext(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	gatetest.Refuse(g, "block", "k")
	now := g.Now()
	f := flagsOf(g, now)[0]
	if is := g.FlagContext(now, &f); is.Rule == nil || is.Rule.Name != "block" ||
		is.View != mitigation.Node || is.Offered != 4 || is.Node != "" {
		t.Errorf("%+v", is)
	}
	f.Rule = "none"
	if is := g.FlagContext(now, &f); is != (gate.FlagContext{}) {
		t.Errorf("a rule that is not in force: %+v", is)
	}
}

func TestEffect(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Block)
	gatetest.Refuse(g, "block", "k")
	now := g.Now()
	if is := g.Effect(now, "block", []byte("k")); !is.Live() || is.Action != mitigation.Block {
		t.Errorf("%+v", is)
	}
	if is := g.Effect(now, "block", []byte("other")); is.Live() {
		t.Errorf("a key without a flag: %+v", is)
	}
	if is := g.Effect(now, "none", []byte("k")); is.Live() {
		t.Errorf("a rule that is not in force: %+v", is)
	}
}

func TestEachSuspectShowsTheExactCount(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	gatetest.Refuse(g, "shed", "k")
	found := 0
	g.EachSuspect(g.Now(), func(s window.Suspect) bool {
		if found++; s.Rule != "shed" || string(s.Key) != "k" || s.Admitted != 3 ||
			s.Offered != 4 || !s.Refusing {
			t.Errorf("%+v", s)
		}
		return true
	})
	if found != 1 {
		t.Errorf("%d suspects", found)
	}
}

func TestMisnamed(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	long := string(make([]byte, 100))
	for _, name := range []string{"a", "b", long} {
		if _, err := g.Lane(0).Decide(g.Now(), 0,
			gatetest.Ask(gate.Check, name, "k", 1)); !errors.Is(err, gate.ErrUnknownRule) {
			t.Errorf("%v", err)
		}
	}
	g.NoteMisnamed([]byte(long))
	if name, count := g.Misnamed(); name != long[:64] || count != 4 {
		t.Errorf("%q, %d times", name, count)
	}
	if name, count := g.Misnamed(); name != "" || count != 0 {
		t.Errorf("read again: %q, %d times", name, count)
	}
}
