package state

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// The name of the file in the state directory, which packages and operators know.
const fileName = "headgate.state"

// unseen is the interval of writes, a second, and a quarter for the write itself.
const unseen = 1250 * time.Millisecond

// fourRules returns a gate with a rule of each kind, as global says of other PoPs.
func fourRules(t testing.TB, global *gate.Global) *gate.Gate {
	t.Helper()
	return gate.New(gate.Options{
		Node: "test", Memory: 1 << 20, Flush: 100 * time.Millisecond,
		Start: time.Now(), Global: global,
		Rules: []mitigation.Rule{gatetest.Shed, gatetest.Block, gatetest.Shadow, gatetest.Off},
	})
}

// block has an operator block key under rule for an hour.
func block(t testing.TB, g *gate.Gate, rule, key string) {
	t.Helper()
	by := gate.ByHand{Rule: rule, Key: []byte(key), Action: mitigation.Block, TTL: time.Hour}
	if _, err := g.Override(g.Now(), by); err != nil {
		t.Fatal(err)
	}
}

// flags returns the live flags of g, in no order.
func flags(g *gate.Gate) (live []mitigation.Flag) {
	g.EachFlag(g.Now(), func(f *mitigation.Flag) bool {
		live = append(live, *f)
		return true
	})
	return live
}

// lifted reports whether the last override of key that g remembers is a lift.
func lifted(t testing.TB, g *gate.Gate, rule, key string) (yes bool) {
	t.Helper()
	g.AppendOverrides(func(record []byte) bool {
		o, err := override.Parse(record)
		if err != nil {
			t.Fatal(err)
		}
		yes = yes || o.Rule == rule && string(o.Key) == key && o.Verb == override.Lift
		return true
	})
	return yes
}

// globalGate is a gate without a ring whose rules all PoPs count by, on virtual time: the present
// is now.
type globalGate struct {
	*gate.Gate
	now window.Instant
}

func newGlobalGate(global gate.Global, rules ...mitigation.Rule) *globalGate {
	began := time.Unix(1_700_000_000, 0)
	if global.Report == nil {
		global.Report = func(window.Instant, []control.Sample) {}
	}
	g := gate.New(gate.Options{
		Node: "a", Memory: 4 << 20, Rules: rules, Flush: 100 * time.Millisecond,
		Global: &global, Start: began,
	})
	w := &globalGate{Gate: g, now: window.Instant(began.UnixNano())}
	w.SetGlobalState(true, false)
	w.Turn(0, w.now, began)
	return w
}

// globalRule returns a rule called r that all PoPs count by.
func globalRule(limit int64, window time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: "r", Limit: limit, Window: window, Scope: mitigation.Global}
}
