package edge

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// runFor lets the node's background work go on for so long.
func runFor(e *Edge, d time.Duration) {
	for n, until := 1, time.Now().Add(d); time.Now().Before(until); n++ {
		time.Sleep(sweepEvery)
		e.Turn(n, e.Now(), time.Now())
	}
}

// TestSuggest asks what other limits would have done to keys that each asked for as much as their number.
func TestSuggest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmin(t, AdminOptions{Local: true})
		a.edge.observer.bytes = 1 << 20
		if got := askFor[SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) != 0 || got.Limit != 3 || got.Mode != "shadow" {
			t.Errorf("before anything was seen: %+v", got)
		}
		runFor(a.edge, 5*time.Second)
		for k := 1; k <= 8; k++ {
			for range k {
				a.edge.askAt(a.edge.Now(), wire.Check, "shadow", fmt.Sprint(k), 1)
			}
		}
		runFor(a.edge, 20*time.Second)
		got := askFor[SuggestView](t, a, "/v1/suggest?rule=shadow")
		if got.Offered != 36 || got.Keys != 8 || got.Sample.Keys != 8 || got.Sample.AllFrom != 0 || got.Sample.LateLooks != 0 {
			t.Errorf("%+v", got)
		}
		if last := got.Rows[len(got.Rows)-1]; last.Limit != 8 || last.Note != "refuses nothing" {
			t.Errorf("the last is %+v", last)
		}
		for _, row := range got.Rows {
			cost := 0.0
			for k := row.Limit + 1; k <= 8; k++ {
				cost += float64(k-row.Limit) / 36
			}
			if math.Abs(row.Cost.Low-cost) > 1e-9 || math.Abs(row.Cost.High-cost) > 1e-9 || row.KeysError != 0 || row.AtLeast {
				t.Errorf("limit %d: %+v, want %v of the cost", row.Limit, row, cost)
			}
			if keys := float64(8-row.Limit) / 8; row.Keys.Low != keys || row.Keys.High != keys {
				t.Errorf("limit %d: %+v, want %v of the keys", row.Limit, row, keys)
			}
			if row.Limit == 3 && row.Note != "the rule's limit" {
				t.Errorf("the rule's limit: %+v", row)
			}
		}
	})
}

// TestSuggestSharesItsRoom: rules that come later take their part of the memory from those that are there.
func TestSuggestSharesItsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rules = 8
		e := newTestEdge(t, 8<<20, shedRule)
		e.observer.bytes = 256 << 10
		runFor(e, time.Second)
		for k := range 4000 {
			e.askAt(e.Now(), wire.Check, shedRule.Name, fmt.Sprint(k), 1)
		}
		runFor(e, 10*time.Second)
		before, _ := e.observer.samples[shedRule.Name].Size()
		for n := range rules - 1 {
			more := config.Default()
			more.Node, more.Memory, more.Rules = "test", 8<<20, []mitigation.Rule{shedRule}
			for k := range n + 1 {
				r := shedRule
				r.Name = fmt.Sprint("r", k)
				more.Rules = append(more.Rules, r)
			}
			if err := e.Reload(time.Now(), func() (config.Config, error) { return more, nil }); err != nil {
				t.Fatal(err)
			}
			runFor(e, time.Second)
		}
		if after, _ := e.observer.samples[shedRule.Name].Size(); before < 100 || after > before/rules+1 || after < before/rules/2 {
			t.Errorf("%d keys of a rule that is alone, %d of one of %d", before, after, rules)
		}
	})
}

// TestSuggestBeginsAnew: what was seen under another limit's rule goes when its figures do, and a rule that is off has none.
func TestSuggestBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmin(t, AdminOptions{Local: true})
		a.refuse("shadow", "a")
		runFor(a.edge, 20*time.Second)
		if got := askFor[SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) == 0 {
			t.Errorf("nothing was seen: %+v", got)
		}
		a.edge.SetMode("shadow", 0)
		for range 2 {
			if got := askFor[SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) != 0 || got.Offered != 0 {
				t.Errorf("in force: %+v", got)
			}
			runFor(a.edge, 20*time.Second)
		}
		a.refuse("shadow", "b")
		runFor(a.edge, 20*time.Second)
		if got := askFor[SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) == 0 || got.Offered != 5 || got.Keys != 1 {
			t.Errorf("in force, and asked again: %+v", got)
		}
		block := a.edge.Rules()
		block[2].Action, block[2].BlockFor = mitigation.Block, time.Minute
		a.edge.setRules(block) // another action goes on with the figures, but other limits would have done something else
		for range 2 {
			runFor(a.edge, 20*time.Second)
			if got := askFor[SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) != 0 || got.Action != "block" || got.Offered != 0 {
				t.Errorf("another action: %+v", got)
			}
		}
		a.refuse("shadow", "c")
		runFor(a.edge, 20*time.Second)
		if got := askFor[SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) == 0 || got.Offered != 5 || refusalsOf(t, a, "shadow").Offered != 10 {
			t.Errorf("another action, and asked again: %+v", got)
		}
		if got := askFor[SuggestView](t, a, "/v1/suggest?rule=off"); len(got.Rows) != 0 {
			t.Errorf("off: %+v", got)
		}
	})
}

// TestSuggestCountsItsOwn: what the limit that the rule has refuses is counted, blocks included.
func TestSuggestCountsItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmin(t, AdminOptions{Local: true})
		for range 2 { // 3 admitted and 1 refused, then, a window later but still blocked, 4 refused
			for range 4 {
				a.edge.askAt(a.edge.Now(), wire.Check, "block", "k", 1)
			}
			runFor(a.edge, 20*time.Second)
		}
		got := askFor[SuggestView](t, a, "/v1/suggest?rule=block")
		own := slices.IndexFunc(got.Rows, func(r SuggestRow) bool { return r.Limit == 3 })
		if own < 0 || got.Rows[own].Cost != (ShareRange{5.0 / 8, 5.0 / 8}) || got.Rows[own].Keys != (ShareRange{1, 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestSuggestOfASharedRule: what the keys of a node ask the others counts too.
func TestSuggestOfASharedRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newJoined(t, "a", newTelling(), popRule(10, 10*time.Second))
		b := newJoined(t, "b", a.tally, popRule(10, 10*time.Second))
		pass(2*time.Second, a, b)
		for range 3 {
			for _, n := range []*joined{a, b, b} {
				n.edge.askAt(n.edge.Now(), wire.Check, "r", "k", 1)
				pass(testEvery, a, b)
			}
		}
		for range 40 {
			pass(500*time.Millisecond, a, b)
			a.edge.observe(a.edge.Now())
		}
		got := askFor[SuggestView](t, a.Admin, "/v1/suggest?rule=r")
		at := slices.IndexFunc(got.Rows, func(r SuggestRow) bool { return r.Limit == 5 })
		if at < 0 || !got.Shared || got.Offered != 3 || got.Rows[at].Cost != (ShareRange{4.0 / 9, 4.0 / 9}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestSuggestTellsWhatItMissed: where slots were short, rows below what is surely seen say at least; and looks that came late
// are counted.
func TestSuggestTellsWhatItMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rule := mitigation.Rule{Name: "r", Limit: 1000, Window: 10 * time.Second}
		a := NewAdmin(newTestEdge(t, 1<<20, rule), AdminOptions{Local: true})
		for k := range 20_000 {
			a.edge.askAt(a.edge.Now(), wire.Check, "r", fmt.Sprint(k), 1)
		}
		for range 200 {
			a.edge.askAt(a.edge.Now(), wire.Check, "r", "heavy", 1)
		}
		runFor(a.edge, 8*time.Second)
		got := askFor[SuggestView](t, a, "/v1/suggest?rule=r")
		if got.Sample.BlindTo < 10 || got.Sample.BlindTo > 500 || got.Sample.LateLooks != 0 {
			t.Errorf("sample %+v", got.Sample)
		}
		for _, row := range got.Rows {
			if row.AtLeast != (row.Limit < got.Sample.BlindTo) {
				t.Errorf("blind to %d: %+v", got.Sample.BlindTo, row)
			}
		}
		a.edge.askAt(a.edge.Now(), wire.Check, "r", "heavy", 1)
		time.Sleep(rule.Window) // and nobody looked: wherever its slot lies, the look before is a window ago
		a.edge.askAt(a.edge.Now(), wire.Check, "r", "heavy", 1)
		runFor(a.edge, 6*time.Second)
		if got := askFor[SuggestView](t, a, "/v1/suggest?rule=r"); got.Sample.LateLooks == 0 {
			t.Errorf("sample %+v", got.Sample)
		}
	})
}

// TestSuggestBad: what is asked wrongly is answered so.
func TestSuggestBad(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	checkAdminProblem(t, a.ask("GET", "/v1/suggest", ""), http.StatusBadRequest, "rule")
	checkAdminProblem(t, a.ask("GET", "/v1/suggest?rule=none", ""), http.StatusNotFound, "rule")
	checkAdminProblem(t, a.ask("GET", "/v1/suggest?rule=shed&n=1", ""), http.StatusBadRequest, "n")
	checkAdminProblem(t, a.ask("POST", "/v1/suggest?rule=shed", ""), http.StatusMethodNotAllowed, "method")
}

// TestObserveBesideDecisions: looking at keys, telling of it, deciding and changing the rules go on at the same time.
func TestObserveBesideDecisions(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	start := a.edge.Now()
	var working sync.WaitGroup
	for n := range 4 {
		working.Go(func() {
			for i := range 200 {
				now := start.Add(time.Duration(i) * 50 * time.Millisecond)
				switch n {
				case 0:
					a.edge.observe(now)
				case 1:
					a.ask("GET", "/v1/suggest?rule=shed", "")
				case 2:
					a.edge.SetMode("", mitigation.Mode(i/20%3))
				default:
					for k := range 20 {
						a.edge.askAt(now, wire.Check, "shed", fmt.Sprint(k), 1)
					}
				}
			}
		})
	}
	working.Wait()
}

// BenchmarkObserve looks once at all suspects of a node with 50,000 of them.
func BenchmarkObserve(b *testing.B) {
	e := benchEdge(b, 64<<20, 100, 10*time.Second)
	now := e.Now()
	for k := range 200_000 {
		e.askAt(now, wire.Check, "r", fmt.Sprint(k%50_000), 1)
	}
	for b.Loop() {
		now = now.Add(latestRound)
		e.observe(now)
	}
}
