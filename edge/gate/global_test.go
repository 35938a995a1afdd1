package gate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// flushEvery is the time between two flushes of the tests that drive time themselves.
const flushEvery = 100 * time.Millisecond

// globalNode is a gate without a ring that exchanges with other PoPs, on virtual time.
type globalNode struct {
	*gate.Gate
	t        *testing.T
	now      window.Instant
	reported []control.Sample  // by the last flush
	totals   map[uint32]uint64 // of the ring's only counter, by period
}

func newGlobalNode(t *testing.T, servers int, rules ...mitigation.Rule) *globalNode {
	t.Helper()
	began := time.Unix(1_700_000_000, 0)
	w := &globalNode{t: t, now: window.Instant(began.UnixNano()), totals: map[uint32]uint64{}}
	w.Gate = gate.New(gate.Options{
		Node: "a", Memory: 4 << 20, Rules: rules, Flush: flushEvery, Servers: servers, Start: began,
		Global: &gate.Global{Report: func(_ window.Instant, all []control.Sample) {
			w.reported = slices.Clone(all)
		}},
	})
	w.SetGlobalState(true, false)
	w.Turn(1, w.now, began)
	return w
}

func globalRule(limit int64, window time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: "r", Limit: limit, Window: window, Scope: mitigation.Global}
}

func (w *globalNode) check(key string) gate.Decision {
	// of a rule there is
	d, _ := w.Lane(0).Decide(w.now, 1<<63, gatetest.Ask(gate.Check, "r", key, 1))
	return d
}

// flush lets a flush pass and returns the sample of the only key.
func (w *globalNode) flush() control.Sample {
	w.t.Helper()
	w.now = w.now.Add(flushEvery)
	w.FlushAlone(w.now, w.now.Time())
	if len(w.reported) != 1 {
		w.t.Fatalf("%d keys were reported, want 1", len(w.reported))
	}
	return w.reported[0]
}

// advise hands w a ratio and the cost that others admitted in the running period.
func (w *globalNode) advise(m control.Sample, ratio float64, heard int64) {
	a := control.Advice{
		Rule: m.Rule, Key: m.Key, Index: m.Index,
		Ratio: mitigation.Ratio(min(ratio*(1<<32), float64(mitigation.MaxRatio))),
		Until: w.now.Add(time.Second), From: "far",
	}
	if heard > 0 {
		a.Remote = []window.RemoteDelta{{
			Period:       m.Report.Totals.Period,
			PeriodTotals: window.PeriodTotals{Offered: heard, Admitted: heard},
		}}
	}
	w.Apply(w.now, a)
}

func TestCountsAreReported(t *testing.T) {
	w := newGlobalNode(t, 0, globalRule(5, time.Minute))
	for range 7 {
		w.check("k")
	}
	m := w.flush()
	if told := m.Report.Totals.By[0]; m.Rule != "r" || string(m.Key) != "k" || !m.Alone ||
		told.Offered != 7 || told.Admitted != 5 {
		t.Errorf("reported %+v", m)
	}
}

func TestRemoteCountsRefuse(t *testing.T) {
	w := newGlobalNode(t, 0, globalRule(5, time.Minute))
	if a := w.check("k"); a.Deny || a.View != mitigation.Global {
		t.Fatalf("%+v", a)
	}
	w.advise(w.flush(), 0, 4)
	if a := w.check("k"); !a.Deny || a.Why != mitigation.ByLimit || a.View != mitigation.Global {
		t.Errorf("a sixth: %+v", a)
	}
}

// A ratio acts only where the counts are over the limit too: a key within it is not shed, whatever
// the advice.
func TestAdviceNeedsCounts(t *testing.T) {
	w := newGlobalNode(t, 0, globalRule(100, time.Minute))
	w.check("k")
	m := w.flush()
	w.advise(m, 1, 0)
	if a := w.check("k"); a.Deny {
		t.Errorf("shed at 2 of 100: %+v", a)
	}
	w.advise(m, 1, 90)
	if a := w.check("k"); a.Deny {
		t.Errorf("shed at 93 of 100: %+v", a)
	}
	w.advise(m, 1, 20)
	if a := w.check("k"); !a.Deny {
		t.Errorf("not refused beyond the limit: %+v", a)
	}
}

func TestRatioInRateMode(t *testing.T) {
	w := newGlobalNode(t, 0, globalRule(10_000, time.Second))
	w.check("k")
	w.advise(w.flush(), 0.75, 0)
	denied := 0
	for range 1000 {
		if a := w.check("k"); a.Deny && a.Why == mitigation.ByShed && a.View == mitigation.Global {
			denied++
		}
	}
	if denied < 736 || denied > 764 {
		t.Errorf("%d of 1000 refused, want about 750", denied)
	}
	all := flagsOf(w.Gate, w.now)
	if len(all) != 1 || all[0].Source != mitigation.Gossip || all[0].Origin != "far" ||
		w.FlagContext(w.now, &all[0]).View != mitigation.Global {
		t.Errorf("%+v", all)
	}
	w.advise(w.reported[0], 0, 0)
	if a := w.check("k"); a.Deny {
		t.Errorf("still shed: %+v", a)
	}
}

func TestBlockedEverywhere(t *testing.T) {
	r := globalRule(5, time.Minute)
	r.Action, r.BlockFor = mitigation.Block, 10*time.Minute
	w := newGlobalNode(t, 0, r)
	w.check("k")
	m := w.flush()
	a := control.Advice{
		Rule: "r", Key: m.Key, Index: m.Index, From: "far",
		View: control.GlobalView{Blocked: 30 * 24 * time.Hour},
	}
	w.Apply(w.now, a)
	got := w.check("k")
	if !got.Deny || got.Why != mitigation.ByBlock || got.Retry > 600*time.Second {
		t.Errorf("%+v, want a block of at most the rule's", got)
	}
	for range 5 {
		w.check("k") // a key far from its limit may wait for a later flush
	}
	if m := w.flush(); m.Report.Blocked <= 0 {
		t.Errorf("a blocked key is reported as %+v", m)
	}
}

// An allow by hand stands above the advice of other PoPs.
func TestAllowedByHandIsNotShed(t *testing.T) {
	w := newGlobalNode(t, 0, globalRule(10_000, time.Second))
	if _, err := w.Override(w.now, gate.ByHand{
		Rule: "r", Key: []byte("k"),
		Action: mitigation.Allow, TTL: time.Hour, Who: "me",
	}); err != nil {
		t.Fatal(err)
	}
	w.check("k")
	w.advise(w.flush(), 1, 0)
	if a := w.check("k"); a.Deny {
		t.Errorf("%+v", a)
	}
}

func TestAdviceForSomethingElseIsIgnored(t *testing.T) {
	node := globalRule(10_000, time.Second)
	node.Name, node.Scope = "local", mitigation.Node
	w := newGlobalNode(t, 0, globalRule(10_000, time.Second), node)
	w.check("k")
	m := w.flush()
	for _, change := range []func(*control.Sample){
		func(m *control.Sample) { m.Rule = "gone" },
		func(m *control.Sample) { m.Rule = "local" },
		func(m *control.Sample) { m.Key = []byte("other") },
	} {
		other := m
		change(&other)
		w.advise(other, 1, 0)
	}
	if all := flagsOf(w.Gate, w.now); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

func TestOtherPoPsLost(t *testing.T) {
	for mode, want := range map[mitigation.FailureMode]bool{
		mitigation.FailLocal: false, mitigation.FailAllow: false, mitigation.FailDeny: true,
	} {
		r := globalRule(5, time.Minute)
		r.FailureMode = mode
		w := newGlobalNode(t, 0, r)
		w.SetGlobalState(false, false)
		if a := w.check("k"); a.Deny || a.View != mitigation.Node {
			t.Errorf("%v, nobody heard yet: %+v", mode, a)
		}
		if !w.Degraded() {
			t.Errorf("%v: a node that hears nobody is not degraded", mode)
		}
		w.SetGlobalState(false, true)
		if a := w.check("k"); a.Deny != want {
			t.Errorf("%v, lost: %+v", mode, a)
		}
	}
}

// exchange is a flush with a ring of one server, which counts nothing but this node's cost, or does
// not answer.
func (w *globalNode) exchange(lost bool) {
	w.now, w.reported = w.now.Add(flushEvery), nil
	f := window.Flush{
		Now: w.now, Interval: flushEvery, Nodes: 1, Room: gate.FlushRoom,
		Down: func(int) bool { return lost }, Alone: w.Reports(),
	}
	dues, _ := w.Collect(f, nil, nil)
	for n := range dues {
		if d := &dues[n]; d.Alone() {
			w.MergeAlone(f, d)
			continue
		}
		w.totals[dues[n].Period] += dues[n].Delta
		w.Merge(f, &dues[n], w.totals[dues[n].Period], 0)
	}
	if !lost {
		w.Ring().Heard(0, w.now)
	}
	w.Report(w.now)
}

// A node whose ring is lost reports its keys by itself, and other PoPs' counts go on reaching its
// decisions.
func TestRingLostIsReportedAlone(t *testing.T) {
	w := newGlobalNode(t, 1, globalRule(5, time.Minute))
	w.Ring().SetClock(health.ClockAgreed)
	second := func(lost bool) (all []control.Sample) {
		for range time.Second / flushEvery {
			w.exchange(lost)
			all = append(all, w.reported...)
		}
		w.Turn(1, w.now, w.now.Time())
		return all
	}
	w.check("k")
	if all := second(false); len(all) == 0 || all[0].Alone {
		t.Fatalf("with a ring: %+v", all)
	}
	w.check("k")
	all := second(true)
	if len(all) != 1 || !all[0].Alone || all[0].Report.Totals.By[0].Admitted != 1 {
		t.Errorf("without: %+v", all)
	}
	if w.PoPReached() {
		t.Error("the PoP counts as reached while its only server is silent")
	}
	if a := w.check("k"); a.View != mitigation.Global {
		t.Errorf("%+v", a)
	}
}

// A drop ratio that other PoPs' demand asks for drops the requests without a part of the limit
// only.
func TestAGlobalRatioSparesWhatIsReserved(t *testing.T) {
	rule := globalRule(2000, time.Second)
	rule.Reserve = []mitigation.Share{{Tier: "critical", Part: 2000}, {Tier: "normal", Part: 1000}}
	w := newGlobalNode(t, 0, rule)
	for range 3000 {
		w.check("k")
	}
	sample := w.flush()
	w.advise(sample, 0.9, 0)
	// the window is empty again, and the ratio still in force
	w.now = w.now.Add(950 * time.Millisecond)
	denied := map[string]int{}
	for n := range 300 {
		tier := []string{"critical", "normal", ""}[n%3]
		a := gatetest.Ask(gate.Check, "r", "k", 1)
		a.Tier = []byte(tier)
		if d, _ := w.Lane(0).Decide(w.now, 1<<63, a); d.Deny { // of a rule there is
			denied[tier]++
			if d.Why != mitigation.ByShed {
				t.Fatalf("%q: %+v", tier, d)
			}
		}
	}
	if denied["critical"]+denied["normal"] > 0 || denied[""] < 85 {
		t.Errorf("denied of 100 each: %v", denied)
	}
}
