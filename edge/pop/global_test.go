package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// newReporting returns nodes whose rule of scope global reports to all.
func newReporting(
	t *testing.T, nodes int, limit int64, all *[]control.Sample,
) (*together, *ringtest.Memory) {
	global := &gate.Global{Report: func(_ window.Instant, more []control.Sample) {
		*all = append(*all, more...)
	}}
	rule := poptest.Rule(limit, time.Minute)
	rule.Scope = mitigation.Global
	m := ringtest.NewMemory(1)
	return &together{poptest.NewTogetherOf(t, nodes, m, global, rule)}, m
}

// TestLostRingIsReportedAlone: the nodes of a PoP whose ring is lost report their own counts, each
// for itself, to the control loop over all PoPs.
func TestLostRingIsReportedAlone(t *testing.T) {
	var reported []control.Sample
	p, m := newReporting(t, 1, 5, &reported)
	p.Nodes[0].Gate.SetGlobalState(true, false)

	p.After(5 * time.Second)
	p.Check(0, "r", "k")
	p.After(time.Second)
	if len(reported) == 0 || reported[0].Alone {
		t.Fatalf("with a ring: %+v", reported)
	}

	m.SetDown(0, true)
	reported = nil
	p.Check(0, "r", "k")
	p.After(time.Second)
	if len(reported) != 1 || !reported[0].Alone || reported[0].Report.Totals.By[0].Admitted != 1 {
		t.Errorf("without a ring: %+v", reported)
	}
	if d := p.Check(0, "r", "k"); d.View != mitigation.Global {
		t.Errorf("decision without a ring: %+v", d)
	}
}

// TestAGlobalKeyIsReportedEarly: what cannot wait for the next flush is reported to the control
// loop as soon as the ring has counted it, or, with the ring lost, as the node's own.
func TestAGlobalKeyIsReportedEarly(t *testing.T) {
	var reported []control.Sample
	p, m := newReporting(t, 2, 100, &reported)
	p.After(5 * time.Second)
	for _, down := range []bool{false, true} {
		m.SetDown(0, down)
		reported = nil
		for range 30 {
			p.Check(0, "r", "k")
		}
		p.After(3 * time.Millisecond)
		if len(reported) != 1 || reported[0].Alone != down ||
			reported[0].Report.Totals.By[0].Admitted != 30 {
			t.Errorf("ring lost %v: %+v", down, reported)
		}
		p.After(97 * time.Millisecond)
	}
}
