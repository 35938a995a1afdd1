package coordinator_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// hundredEach is held by owners, fiveEach by records.
var hundredEach = mitigation.Rule{
	Name: "r", Limit: 100, Window: 10 * time.Second,
	Scope: mitigation.Global,
}

// flood has all nodes measure the keys from first on for some seconds: of each the nodes together
// have that part of the limit in a window.
func (f *fleet) flood(rule mitigation.Rule, seconds, first, keys int, part float64) {
	period := window.CountingPeriod(rule.Window)
	all := make([]coordinator.Sample, keys)
	cost, began := int64(part*float64(rule.Limit)), f.now
	for f.now < began.Add(time.Duration(seconds)*time.Second) {
		for _, n := range f.order {
			for k := range all {
				m := coordinator.Sample{
					Rule: rule.Name, Key: keyOf(first + k),
					Since: began, Offered: cost,
					Report: control.Report{
						Rate: float64(cost) / 3 / rule.Window.Seconds(), Over: rule.Window,
					},
				}
				m.Report.Totals.Period = uint32(int64(f.now) / int64(period))
				m.Report.Totals.By[0] = window.PeriodTotals{Offered: cost / 3, Admitted: cost / 3}
				if f.now == began {
					m.Own = cost / 3
				}
				all[k] = m
			}
			if n.name != f.idle {
				n.Measure(f.now, f.now.Time(), all)
			}
			n.Tick(f.now, f.now.Time())
		}
		f.deliver()
		f.now = f.now.Add(100 * time.Millisecond)
	}
}

// TestBytesAreThoseOfTheHeap: the bytes of keys, as counted, are those of the heap, in every role.
func TestBytesAreThoseOfTheHeap(t *testing.T) {
	const keys = 1000
	for name, c := range map[string]struct {
		rule mitigation.Rule
		most int64 // bytes a key and node
	}{"by records": {fiveEach, 700}, "by owners": {hundredEach, 6500}} {
		heap := func() int64 {
			var is runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&is)
			return int64(is.HeapAlloc)
		}
		f := newCounting(t, c.rule, 1, 1, 1)
		f.flood(c.rule, 1, 0, 1, .9)
		before, counted := heap(), int64(0)
		f.flood(c.rule, 8, 0, keys, .9)
		for _, n := range f.order {
			n.parts = nil
		}
		grown := heap() - before
		for _, n := range f.order {
			s := n.Stats()
			if counted += s.Bytes - f.counts[n.name].Bytes(); s.Locals != keys || s.Full > 0 {
				t.Errorf("%s: %d keys are measured, %d find no room", name, s.Locals, s.Full)
			}
		}
		t.Logf("%s: %d bytes a key and node, %d counted", name, grown/keys/3, counted/keys/3)
		if counted < grown*85/100 || counted > grown*130/100 || counted/keys/3 > c.most {
			t.Errorf("%s: %d bytes are counted of %d of the heap, %d a key", name, counted, grown,
				counted/keys/3)
		}
		runtime.KeepAlive(f)
	}
}

// keyOf is the nth key of a flood.
func keyOf(n int) []byte { return fmt.Appendf(nil, "a key of 20 bytes %d", n) }

// TestKeysGiveWay: in little memory the keys with the least of their limit used give way to others,
// in every role, and all is given back.
func TestKeysGiveWay(t *testing.T) {
	const hot = 15
	for name, rule := range map[string]mitigation.Rule{
		"by records": fiveEach, "by owners": hundredEach,
	} {
		f := newCountingWithin(t, rule, 1<<18, 1, 1, 1)
		a := f.nodes["a0"]
		f.flood(rule, 4, 0, 1000, .2)
		if a.Stats().Full == 0 {
			t.Fatalf("%s: all have room", name)
		}
		f.flood(rule, 20, 10_000, hot, 1)
		s, owned := a.Stats(), 0
		if s.Bytes > s.Capacity*102/100 {
			t.Errorf("%s: %d bytes of %d", name, s.Bytes, s.Capacity)
		}
		for k := range hot {
			is := a.Explain(f.now, "r", keyOf(10_000+k))
			if is.Viewed == 0 {
				t.Fatalf("%s: key %d of many found no room: %+v", name, k, s)
			}
			if owned++; (is.Owner == "a0" || is.Standby == "a0") && len(is.Parts) != 3 {
				t.Errorf("%s: key %d is owned with %d of 3 parts", name, k, len(is.Parts))
			}
		}
		f.flood(rule, 4, 20_000, 750, 50) // not for keys that are at their limits too
		for k := range hot {
			if a.Explain(f.now, "r", keyOf(10_000+k)).Viewed == 0 {
				t.Fatalf("%s: key %d gave way to another at its limit", name, k)
			}
		}
		f.run(3*time.Minute, quiet)
		if s := a.Stats(); s.Locals+s.ReporterKeys+s.OwnedKeys > 0 ||
			s.Bytes != f.counts["a0"].Bytes() {
			t.Errorf("%s: kept: %+v", name, s)
		}
	}
}

// TestAFullOwnerTakesHotKeys: of keys that other nodes measure.
func TestAFullOwnerTakesHotKeys(t *testing.T) {
	f := newCountingWithin(t, hundredEach, 1<<18, 1, 1, 1)
	f.idle = "a0"
	f.flood(hundredEach, 6, 0, 750, .5)
	full := f.nodes["a0"].Stats().Full
	f.flood(hundredEach, 15, 10_000, 20, 3)
	owned := 0
	for k := range 20 {
		is := f.nodes["a0"].Explain(f.now, "r", keyOf(10_000+k))
		if is.Owner != "a0" && is.Standby != "a0" {
			continue
		}
		if owned++; len(is.Parts) != 2 {
			t.Errorf("key %d is known of %d of 2 PoPs", k, len(is.Parts))
		}
	}
	if full == 0 || owned == 0 {
		t.Errorf("%d keys found no room, %d are owned", full, owned)
	}
}

// TestCountsAreHandedOnce: the gate of a key that gave way, that was restored, or whose limit has
// changed so that others hold it, is handed nothing that its slot has, and all that comes later.
func TestCountsAreHandedOnce(t *testing.T) {
	larger := func(r *mitigation.Rule) { r.Limit = 100 }
	smaller := func(r *mitigation.Rule) { r.Limit = 8 }
	small, large := fiveEach, hundredEach
	small.Limit, small.Window, large.Window = 8, 10*time.Minute, 10*time.Minute
	for name, c := range map[string]struct {
		rule    mitigation.Rule
		least   int64 // handed of 4 admitted elsewhere, of which 2 afterwards
		told    int64 // others at least of 2 admitted here, of which 1 meanwhile
		between func(f *fleet)
	}{
		"records gave way": {small, 4, 2, func(f *fleet) { f.flood(small, 4, 0, 1000, .9) }},
		"a view gave way":  {large, 2, 2, func(f *fleet) { f.flood(large, 4, 0, 1000, .9) }},
		"and the table lost all": {small, 2, 2, func(f *fleet) {
			f.flood(small, 4, 0, 1000, .9)
			f.counts["a0"].Forget(0)
		}},
		"restored": {small, 4, 1, func(f *fleet) {
			was := f.nodes["a0"].Snapshot("r", []byte("k"))
			f.order, f.counts["a0"] = f.order[1:], counts.NewTable(64)
			heard := f.nodes["a0"].heard
			f.add(small, "a0", "a")
			f.assign([]byte("secret"), f.members)
			f.nodes["a0"].heard = heard
			f.nodes["a0"].Restore(1, "r", []byte("k"), was)
		}},
		"a larger limit":  {small, 4, 1, func(f *fleet) { f.change = larger }},
		"a smaller limit": {large, 2, 1, func(f *fleet) { f.change = smaller }},
	} {
		f := newCountingWithin(t, c.rule, 1<<18, 1, 1)
		own, a := int64(1), int64(1)
		admit := func(b int64) {
			for range 240 {
				f.admit("a0", c.rule, own, a)
				f.admit("b0", c.rule, b-f.heardOf("a0"), b)
				f.run(100*time.Millisecond, quiet)
			}
		}
		f.admit("a0", c.rule, 1, 1)
		if is := f.nodes["a0"].Snapshot("r", []byte("k")); is.Merged != (window.Totals{}) {
			t.Errorf("%s: merged before anything was: %+v", name, is.Merged)
		}
		for _, step := range []struct{ b, least int64 }{
			{2, 2}, {2, 2}, {4, c.least}, {6, c.least + 2},
		} {
			admit(step.b)
			if got := f.heardOf("a0"); got < step.least || got > step.b {
				t.Errorf("%s: %d of %d are handed, want at least %d", name, got, step.b, step.least)
			}
			if c.between != nil {
				c.between(f)
				own, a, c.between = 0, 2, nil // 1 was admitted that nobody else was told of
				f.refused = 2 * c.rule.Limit  // so the key has more than others
			}
		}
		if got := f.heardOf("b0"); c.told > got {
			t.Errorf("%s: %d of 2 are told", name, got)
		}
	}
}

// TestPeriodsOfAnotherWindow: a key whose window changed learns of others as before.
func TestPeriodsOfAnotherWindow(t *testing.T) {
	f, rule := newCounting(t, fiveEach, 1, 1), fiveEach
	for _, rule.Window = range []time.Duration{10 * time.Second, time.Minute, 5 * time.Second} {
		f.change = func(r *mitigation.Rule) { r.Window = rule.Window }
		f.nodes["a0"].heard = window.Totals{}
		for own := range int64(3) {
			f.admit("a0", rule, 1, 1)
			f.admit("b0", rule, min(own, 1), own)
			f.run(200*time.Millisecond, quiet)
		}
		if got := f.heardOf("a0"); got != 2 {
			t.Errorf("a window of %v: %d of 2 are handed", rule.Window, got)
		}
	}
}

// BenchmarkSecond is ten flushes and ticks of three nodes with two thousand keys above their limit,
// packets included.
func BenchmarkSecond(b *testing.B) {
	f := newCounting(&testing.T{}, hundredEach, 1, 1, 1)
	f.flood(hundredEach, 5, 0, 2000, 2)
	b.ReportAllocs()
	for b.Loop() {
		f.flood(hundredEach, 1, 0, 2000, 2)
	}
}
