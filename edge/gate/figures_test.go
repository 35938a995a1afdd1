package gate_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

func TestFigures(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shadow, gatetest.Shed)
	gatetest.Refuse(g, "shed", "k")
	gatetest.Refuse(g, "shadow", "k")
	gatetest.Refuse(g, "shadow", "j")
	all := g.Figures()
	if len(all) != 2 || all[0].Name != "shadow" || all[1].Name != "shed" {
		t.Fatalf("not the rules in their order: %+v", all)
	}
	shadow, shed := &all[0], &all[1]
	if shed.Totals.Admitted() != 3 || shed.Totals.Refused() != 1 || shed.Totals.Offered() != 4 {
		t.Errorf("shed: %+v", shed.Totals)
	}
	if shadow.Totals.Refused() != 0 || shadow.Totals.Offered() != 8 {
		t.Errorf("shadow: %+v", shadow.Totals)
	}
	if requests, cost := shadow.Totals.WouldRefuse(); requests != 2 || cost != 2 {
		t.Errorf("shadow would refuse %d requests, cost %d", requests, cost)
	}
	if shadow.Keys < 1.9 || shadow.Keys > 2.1 || shadow.RefusedKeys < 1.9 ||
		shadow.RefusedKeys > 2.1 {
		t.Errorf("about %v keys, %v refused, want 2 of 2", shadow.Keys, shadow.RefusedKeys)
	}
	for n := range all {
		if f := &all[n]; f.Shared || f.Global || f.View != mitigation.Node || f.Saturated ||
			f.Layer != 10*time.Second {
			t.Errorf("%+v", f)
		}
	}
	if _, _, ok := g.Observation("none"); ok {
		t.Error("figures of a rule that is not in force")
	}
}

// TestFiguresBaseline checks which changes of a rule have its figures begin anew: those of the
// limit and the window, and leaving shadow. The totals only grow.
func TestFiguresBaseline(t *testing.T) {
	raised, renewed := gatetest.Shed, gatetest.Shed
	raised.Limit, renewed.Window = 4, 20*time.Second
	blocking := gatetest.Shed
	blocking.Action, blocking.BlockFor = mitigation.Block, time.Minute
	dark := gatetest.Shed
	dark.Mode = mitigation.Shadow
	for name, c := range map[string]struct {
		from, to mitigation.Rule
		anew     bool
	}{
		"limit":  {gatetest.Shed, raised, true},
		"window": {gatetest.Shed, renewed, true},
		"shadow": {dark, gatetest.Shed, true},
		"action": {gatetest.Shed, blocking, false},
		"same":   {gatetest.Shed, gatetest.Shed, false},
	} {
		g := gatetest.New(t, 1<<20, c.from)
		gatetest.Refuse(g, "shed", "k")
		before, _, _ := g.Observation("shed")
		g.Reload(time.Now(), []mitigation.Rule{c.to})
		after, _, _ := g.Observation("shed")
		if after.Totals != before.Totals {
			t.Errorf("%s: the totals went from %+v to %+v", name, before.Totals, after.Totals)
		}
		if anew := after.From.Totals == before.Totals &&
			after.From.Since >= before.From.Since; anew != c.anew {
			t.Errorf("%s: from %+v to %+v, want anew %v", name, before.From, after.From, c.anew)
		}
	}
}

// TestObservation has one key ask for ten times its limit and reads the cost that a limit would
// have refused.
func TestObservation(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	start := g.Now()
	now := start
	for n := range 300 {
		now = now.Add(100 * time.Millisecond)
		ask(g, now, gate.Check, "shed", "k", 1)
		g.Turn(n+1, now, now.Time())
	}
	f, o, ok := g.Observation("shed")
	if !ok || f.Name != "shed" || o.Keys != 1 || o.Demand < 200 || o.Demand > 300 ||
		len(o.Estimates) == 0 {
		t.Fatalf("%+v, %v", o, ok)
	}
	for n := 1; n < len(o.Estimates); n++ {
		if o.Estimates[n].Limit <= o.Estimates[n-1].Limit {
			t.Errorf("estimate %d is not of a greater limit: %+v", n, o.Estimates)
		}
	}
	if _, _, ok := g.Observation("none"); ok {
		t.Error("an observation of a rule that is not in force")
	}
}
