package coordinator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

var fiveEach = mitigation.Rule{
	Name: "r", Limit: 5, Window: 10 * time.Second,
	Scope: mitigation.Global,
}

// newCounting returns a fleet whose nodes take part in the exchange of counts.
func newCounting(t *testing.T, rule mitigation.Rule, sizes ...int) *fleet {
	t.Helper()
	return newCountingWithin(t, rule, 0, sizes...)
}

// newCountingWithin is newCounting with so much memory for keys in PoP a; 0: the default.
func newCountingWithin(t *testing.T, rule mitigation.Rule, memory int64, sizes ...int) *fleet {
	f := newFleet(t, rule)
	f.memory, f.counts = map[string]int64{"a": memory}, map[string]*counts.Table{}
	for p, size := range sizes {
		for n := range size {
			pop := string(rune('a' + p))
			name := fmt.Sprint(pop, n)
			f.counts[name] = counts.NewTable(1 << 14)
			f.members = append(f.members, coordinator.Member{Name: name, PoP: pop})
			f.add(rule, name, pop)
		}
	}
	f.assign([]byte("secret"), f.members)
	return f
}

// admit has a node admit cost of the key k, on top of what its PoP's ring has: all of it in this
// flush.
func (f *fleet) admit(name string, rule mitigation.Rule, own, total int64) {
	n := f.nodes[name]
	period := window.CountingPeriod(rule.Window)
	at := int64(f.now)
	m := coordinator.Sample{
		Rule: rule.Name, Key: []byte("k"), Since: 1, Own: own,
		Offered: total + f.refused, Report: control.Report{
			Over: rule.Window, Rate: float64(total+f.refused) / rule.Window.Seconds(),
		},
	}
	m.Report.Totals.Period = uint32(at / int64(period))
	m.Report.Totals.By[0] = window.PeriodTotals{
		Offered: total, Admitted: total,
		Times: total * (at % int64(period)) * window.TimeParts / int64(period),
	}
	n.Measure(n.at(f.now), n.wall(f.now), []coordinator.Sample{m})
}

// quiet is a measure without samples.
func quiet(*node) (coordinator.Sample, bool) { return coordinator.Sample{}, false }

// heardOf returns what the gate of a node was handed of others' admissions.
func (f *fleet) heardOf(name string) (sum int64) {
	for _, by := range f.nodes[name].heard.By {
		sum += by.Admitted
	}
	return sum
}

// usedUp reports whether the key k, new at the node, begins as one at its limit.
func (f *fleet) usedUp(name string, rule mitigation.Rule) bool {
	return f.counts[name].UsedUp(&counts.Query{
		Now: f.now, Rule: rule.Name, Limit: rule.Limit,
		Window: rule.Window, Key: []byte("k"),
	}) > f.now
}

// TestCountsGoFromPoPToPoP: what a PoP admitted reaches every node of the others in one flush: the
// gate of a node that measures the key, and the table of any other. Nothing is counted twice,
// whoever sends it again.
func TestCountsGoFromPoPToPoP(t *testing.T) {
	f := newCounting(t, fiveEach, 2, 2, 2)
	f.admit("b0", fiveEach, 0, 0)
	f.run(50*time.Millisecond, quiet)
	f.admit("a0", fiveEach, 2, 2)
	f.run(50*time.Millisecond, quiet)
	f.admit("a1", fiveEach, 1, 3)
	f.run(50*time.Millisecond, quiet)
	for range 3 {
		f.admit("a0", fiveEach, 0, 3)
		f.admit("b0", fiveEach, 0, 0)
		f.run(time.Second, quiet)
	}
	if got := f.heardOf("b0"); got != 3 {
		t.Errorf("the gate of b0 counts %d of 3", got)
	}
	if f.usedUp("b1", fiveEach) || f.usedUp("c0", fiveEach) {
		t.Error("3 of 5 are taken for all")
	}
	f.admit("b0", fiveEach, 2, 2)
	f.run(50*time.Millisecond, quiet)
	for _, name := range []string{"a1", "b1", "c0", "c1"} {
		if name[0] != 'a' && !f.usedUp(name, fiveEach) {
			t.Errorf("%s does not know that the key is used up", name)
		}
	}
	if got := f.heardOf("a0"); got != 2 {
		t.Errorf("the gate of a0 counts %d of 2", got)
	}
	if f.heardOf("a1") != 2 {
		t.Errorf("the gate of a1 counts %d of 2", f.heardOf("a1"))
	}
}

// TestNamesComeAndGo: of 300 PoPs that come and go each is heard, also the last.
func TestNamesComeAndGo(t *testing.T) {
	f := newCounting(t, fiveEach, 1)
	for k := range 300 {
		name := fmt.Sprint("x", k)
		f.order, f.counts[name] = f.order[:1], counts.NewTable(64)
		f.add(fiveEach, name, name)
		f.assign([]byte("secret"), []coordinator.Member{f.members[0], {Name: name, PoP: name}})
		f.now = f.now.Add(3 * fiveEach.Window)
		f.admit(name, fiveEach, 5, 5)
		if f.run(50*time.Millisecond, quiet); !f.usedUp("a0", fiveEach) {
			t.Fatalf("PoP %d is not heard", k)
		}
	}
}

// TestAKeyBeginsWithWhatOthersAdmitted: the first sample of a key at a node brings its gate what
// the table knew.
func TestAKeyBeginsWithWhatOthersAdmitted(t *testing.T) {
	f := newCounting(t, fiveEach, 1, 1)
	f.admit("a0", fiveEach, 4, 4)
	f.run(time.Second, quiet)
	f.admit("b0", fiveEach, 1, 1)
	if got := f.heardOf("b0"); got != 4 {
		t.Errorf("the gate of b0 counts %d of 4", got)
	}
}

// TestWhatGoesByOwners: rates, blocks and larger limits.
func TestWhatGoesByOwners(t *testing.T) {
	block, large := fiveEach, fiveEach
	block.Action, block.BlockFor, large.Limit = mitigation.Block, time.Minute,
		mitigation.DirectLimit+1
	for name, rule := range map[string]mitigation.Rule{
		"a block": block, "a larger limit": large,
		"a rate": second,
	} {
		f := newCounting(t, rule, 1, 1)
		f.admit("a0", rule, 4, 4)
		f.run(time.Second, quiet)
		if s := f.nodes["a0"].Stats(); s.CountsOut != 0 || s.RecordsOut[packet.Counts] != 0 {
			t.Errorf("%s: %d counts are sent", name, s.CountsOut)
		}
	}
}

// TestCountsOfStrangers: a batch that claims to be relayed, but comes from another PoP, and one of
// this PoP's own, change nothing.
func TestCountsOfStrangers(t *testing.T) {
	f := newCounting(t, fiveEach, 1, 1, 1)
	f.admit("b0", fiveEach, 1, 1)
	before := f.nodes["b0"].Stats().Rejected[coordinator.RejectStranger]
	d := counts.NewDigester([]byte("secret"))
	head := counts.Head{
		Relayed: true, Origin: "c", Issued: f.now.Time().UnixMilli(),
		Rules: []counts.Rule{{Name: "r", Terms: counts.Terms(5, 10*time.Second, false)}},
	}
	body := counts.AppendRecord(counts.AppendHead(nil, &head), &counts.Record{
		Digest: d.Of("r", []byte("k")), Period: uint32(int64(f.now) / int64(2*time.Second)), Now: 5,
	})
	sent := packet.AppendHeader(nil,
		packet.Header{Sender: "a0", Session: 1, Sequence: 1, Issued: f.now.Time().UnixMilli()})
	f.nodes["b0"].Receive(f.now, f.now.Time(), packet.AppendBody(sent, packet.Counts, body))
	if got := f.nodes["b0"].Stats().Rejected[coordinator.RejectStranger]; got != before+1 ||
		f.heardOf("b0") != 0 {
		t.Errorf("%d are rejected, the gate counts %d", got-before, f.heardOf("b0"))
	}
}

// TestCountsWaitForTheBudget: what the budget does not carry waits, its totals are those of the
// time when it is sent, and all of it arrives.
func TestCountsWaitForTheBudget(t *testing.T) {
	f := newCounting(t, fiveEach, 1, 1)
	const keys = 8000
	all := make([]coordinator.Sample, keys)
	for k := range all {
		all[k] = coordinator.Sample{
			Rule: "r", Key: fmt.Append(nil, k), Since: 1, Own: 1,
			Offered: 1, Report: control.Report{Over: 10 * time.Second},
		}
		all[k].Report.Totals = window.Totals{
			Period: uint32(int64(f.now) / int64(2*time.Second)),
			By:     [window.Periods]window.PeriodTotals{{Offered: 1, Admitted: 1}},
		}
	}
	f.nodes["a0"].Measure(f.now, f.now.Time(), all)
	if s := f.nodes["a0"].Stats(); s.CountsQueue == 0 || s.CountsOut == 0 {
		t.Fatalf("%d counts are sent, %d wait", s.CountsOut, s.CountsQueue)
	}
	f.run(3*time.Second, func(n *node) (coordinator.Sample, bool) {
		return coordinator.Sample{Rule: "r", Key: []byte("another"), Since: 1}, n.name == "a0"
	})
	if s := f.nodes["b0"].Stats(); s.CountsIn < keys {
		t.Errorf("%d of %d counts have arrived", s.CountsIn, keys)
	}
	if s := f.nodes["a0"].Stats(); s.CountsQueue != 0 || s.CountsOut > 2*keys {
		t.Errorf("%d wait, %d counts are sent of %d keys", s.CountsQueue, s.CountsOut, keys)
	}
}

// TestKeysOfRecordsHaveNoOwner: nothing but records goes out of a key that they hold, and a person
// is told of the parts of all PoPs at any node that measures it.
func TestKeysOfRecordsHaveNoOwner(t *testing.T) {
	f := newCounting(t, fiveEach, 1, 1, 1)
	for range 3 { // records go to PoPs that see the key
		for name, own := range map[string]int64{"a0": 1, "b0": 2, "c0": 1} {
			f.admit(name, fiveEach, own, own)
		}
		f.run(5*time.Second, quiet)
	}
	s := f.nodes["c0"].Stats()
	if s.RecordsIn[packet.Ask]+s.RecordsIn[packet.Report]+s.RecordsIn[packet.View] > 0 ||
		s.ReporterKeys+s.OwnedKeys > 0 || s.Locals != 1 || s.CountsHeld != 1 {
		t.Errorf("%+v", s)
	}
	is := f.nodes["c0"].Explain(f.now, "r", []byte("k"))
	if len(is.Parts) != 3 || is.Viewed == 0 || is.Owner != "" || is.View.Limit != .5 {
		t.Fatalf("%+v", is)
	}
	for _, p := range is.Parts {
		if want := map[string]float64{"a": .1, "b": .2, "c": .1}[p.PoP]; p.Rate < want || p.Alone {
			t.Errorf("%+v, want %g a second", p, want)
		}
	}
}
