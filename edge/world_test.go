package edge

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// worldly is a node without a ring that gossips, on virtual time.
type worldly struct {
	*Edge
	t     *testing.T
	began time.Time
	now   window.Instant
	told  []mitigation.Measured
}

func newWorldly(t *testing.T, rules ...mitigation.Rule) *worldly {
	t.Helper()
	cfg := config.Default()
	cfg.Memory, cfg.Rules, cfg.Node = 4<<20, rules, "a"
	cfg.Gossip.Bind = config.Address{Host: "127.0.0.1", Port: 20000}
	began := time.Unix(1_700_000_000, 0)
	e, err := New(cfg, began)
	if err != nil {
		t.Fatal(err)
	}
	w := &worldly{Edge: e, t: t, began: began, now: window.Instant(began.UnixNano())}
	e.JoinWorld(func(_ window.Instant, all []mitigation.Measured) { w.told = append(w.told[:0], all...) })
	e.SetWorld(true, false)
	e.judgeReach(w.now)
	return w
}

func globalRule(limit int64, window time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: "r", Limit: limit, Window: window, Scope: mitigation.Global}
}

func (w *worldly) check(key string) wire.Answer {
	return w.Lane(0).Decide(w.now, 1<<63, query(wire.Check, "r", key, 1)).Answer
}

// flush lets a flush pass and returns what was told of the only key.
func (w *worldly) flush() mitigation.Measured {
	w.t.Helper()
	w.now = w.now.Add(testEvery)
	w.FlushAlone(w.now, w.began.Add(w.now.Sub(window.Instant(w.began.UnixNano()))))
	if len(w.told) != 1 {
		w.t.Fatalf("told of %d keys, want 1", len(w.told))
	}
	return w.told[0]
}

// advise hands w a ratio and what others admitted in the running period.
func (w *worldly) advise(m mitigation.Measured, ratio float64, heard int64) {
	a := mitigation.Advice{
		Rule: m.Rule, Key: m.Key, Index: m.Index, Ratio: mitigation.Ratio(min(ratio*(1<<32), float64(mitigation.MaxRatio))), Until: w.now.Add(time.Second), From: "far",
	}
	if heard > 0 {
		a.Heard = []window.Heard{{Period: m.Demand.Totals.Period, Told: window.Told{Offered: heard, Admitted: heard}}}
	}
	w.Advise(w.now, a)
}

func TestWorldTellsWhatIsCounted(t *testing.T) {
	w := newWorldly(t, globalRule(5, time.Minute))
	for range 7 {
		w.check("k")
	}
	m := w.flush()
	if told := m.Demand.Totals.By[0]; m.Rule != "r" || string(m.Key) != "k" || !m.Alone || told.Offered != 7 || told.Admitted != 5 {
		t.Errorf("told %+v", m)
	}
}

func TestWorldsCountsRefuse(t *testing.T) {
	w := newWorldly(t, globalRule(5, time.Minute))
	if a := w.check("k"); a.Status != wire.Allow || a.View != wire.ViewGlobal {
		t.Fatalf("%+v", a)
	}
	w.advise(w.flush(), 0, 4)
	if a := w.check("k"); a.Status != wire.Deny || a.Why != wire.WhyLimit || a.View != wire.ViewGlobal {
		t.Errorf("a sixth: %+v", a)
	}
}

// A ratio acts only where the counts are over the limit too: a key within it is not shed, whatever somebody says.
func TestAdviceNeedsCounts(t *testing.T) {
	w := newWorldly(t, globalRule(100, time.Minute))
	w.check("k")
	m := w.flush()
	w.advise(m, 1, 0)
	if a := w.check("k"); a.Status != wire.Allow {
		t.Errorf("shed at 2 of 100: %+v", a)
	}
	w.advise(m, 1, 90)
	if a := w.check("k"); a.Status != wire.Allow {
		t.Errorf("shed at 93 of 100: %+v", a)
	}
	w.advise(m, 1, 20)
	if a := w.check("k"); a.Status != wire.Deny {
		t.Errorf("not refused beyond the limit: %+v", a)
	}
}

func TestRatioInRateMode(t *testing.T) {
	w := newWorldly(t, globalRule(10_000, time.Second))
	w.check("k")
	w.advise(w.flush(), 0.75, 0)
	denied := 0
	for range 1000 {
		if a := w.check("k"); a.Status == wire.Deny && a.Why == wire.WhyShed && a.View == wire.ViewGlobal {
			denied++
		}
	}
	if denied < 747 || denied > 753 {
		t.Errorf("%d of 1000 refused, want 750: requests take turns", denied)
	}
	if page := w.mitigations(w.now, nil, nil, 10); page.Total != 1 || page.Mitigations[0].Source != "gossip:far" || page.Mitigations[0].View != "global" {
		t.Errorf("%+v", page)
	}
	w.advise(w.told[0], 0, 0)
	if a := w.check("k"); a.Status != wire.Allow {
		t.Errorf("still shed: %+v", a)
	}
}

func TestBlockedEverywhere(t *testing.T) {
	r := globalRule(5, time.Minute)
	r.Action, r.BlockFor = mitigation.Block, 10*time.Minute
	w := newWorldly(t, r)
	w.check("k")
	m := w.flush()
	a := mitigation.Advice{Rule: "r", Key: m.Key, Index: m.Index, From: "far", View: mitigation.View{Blocked: 30 * 24 * time.Hour}}
	w.Advise(w.now, a)
	got := w.check("k")
	if got.Status != wire.Deny || got.Why != wire.WhyBlock || got.Retry > 600 {
		t.Errorf("%+v, want a block of at most the rule's", got)
	}
	for range 5 {
		w.check("k") // a key far from its limit may wait to be told of
	}
	if m := w.flush(); m.Demand.Blocked <= 0 {
		t.Errorf("a blocked key is told as %+v", m)
	}
}

// An allow by hand stands above whatever the world says.
func TestAllowedByHandIsNotShed(t *testing.T) {
	w := newWorldly(t, globalRule(10_000, time.Second))
	if _, err := w.setByHand(w.now, handFlag{rule: "r", key: []byte("k"), action: mitigation.Allow, ttl: time.Hour, who: "me"}); err != nil {
		t.Fatal(err)
	}
	w.check("k")
	w.advise(w.flush(), 1, 0)
	if a := w.check("k"); a.Status != wire.Allow {
		t.Errorf("%+v", a)
	}
}

func TestAdviceForSomethingElseIsIgnored(t *testing.T) {
	node := globalRule(10_000, time.Second)
	node.Name, node.Scope = "local", mitigation.Node
	w := newWorldly(t, globalRule(10_000, time.Second), node)
	w.check("k")
	m := w.flush()
	for _, change := range []func(*mitigation.Measured){
		func(m *mitigation.Measured) { m.Rule = "gone" },
		func(m *mitigation.Measured) { m.Rule = "local" },
		func(m *mitigation.Measured) { m.Key = []byte("other") },
	} {
		other := m
		change(&other)
		w.advise(other, 1, 0)
	}
	if page := w.mitigations(w.now, nil, nil, 10); page.Total != 0 {
		t.Errorf("%+v", page)
	}
}

func TestLostWorld(t *testing.T) {
	for mode, want := range map[mitigation.FailureMode]wire.Status{
		mitigation.FailLocal: wire.Allow, mitigation.FailAllow: wire.Allow, mitigation.FailDeny: wire.Deny,
	} {
		r := globalRule(5, time.Minute)
		r.FailureMode = mode
		w := newWorldly(t, r)
		w.SetWorld(false, false)
		if a := w.check("k"); a.Status != wire.Allow || a.View != wire.ViewNode {
			t.Errorf("%v, nobody heard yet: %+v", mode, a)
		}
		if !w.Degraded() {
			t.Errorf("%v: a node that hears nobody is not degraded", mode)
		}
		w.SetWorld(false, true)
		if a := w.check("k"); a.Status != want {
			t.Errorf("%v, lost: %+v", mode, a)
		}
	}
}

// A PoP whose ring is lost is heard of by its nodes, each for itself.
func TestRingLostIsToldAlone(t *testing.T) {
	tally := newMemory(1)
	p := newTogether(t, 1, tally, globalRule(5, time.Minute))
	e := p.nodes[0]
	if e.world != nil {
		t.Fatal("a node without gossip has a world")
	}
	e.world = &world{edge: e, every: testEvery}
	var told []mitigation.Measured
	e.JoinWorld(func(_ window.Instant, all []mitigation.Measured) { told = append(told, all...) })
	e.SetWorld(true, false)
	e.setRules([]mitigation.Rule{globalRule(5, time.Minute)})
	p.after(5 * time.Second)
	p.check(0, "r", "k")
	p.after(time.Second)
	if len(told) == 0 || told[0].Alone {
		t.Fatalf("with a ring: %+v", told)
	}
	tally.down[0], told = true, nil
	p.check(0, "r", "k")
	p.after(time.Second)
	if len(told) != 1 || !told[0].Alone || told[0].Demand.Totals.By[0].Admitted != 1 {
		t.Errorf("without: %+v", told)
	}
	if a := p.check(0, "r", "k"); a.View != wire.ViewGlobal {
		t.Errorf("%+v", a)
	}
}
