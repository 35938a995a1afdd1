package admin_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// runFor lets the node's background work go on for so long.
func runFor(e *gate.Gate, d time.Duration) {
	for n, until := 1, time.Now().Add(d); time.Now().Before(until); n++ {
		time.Sleep(100 * time.Millisecond) // as Run has it
		e.Turn(n, e.Now(), time.Now())
	}
}

// TestSuggest asks for the refusals of other limits for keys that each asked for as much as their
// number.
func TestSuggest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// samples get a sixteenth
		a := newNodeOf(gatetest.New(t, 4<<20, gatetest.Shadow), admin.Options{Local: true})
		if got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) != 0 ||
			got.Limit != 3 || got.Mode != "shadow" {
			t.Errorf("before anything was seen: %+v", got)
		}
		runFor(a.gate, 5*time.Second)
		for k := 1; k <= 8; k++ {
			for range k {
				gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "shadow", fmt.Sprint(k), 1)
			}
		}
		runFor(a.gate, 20*time.Second)
		got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=shadow")
		if got.Offered != 36 || got.Keys != 8 || got.Sample.Keys != 8 || got.Sample.AllFrom != 0 ||
			got.Sample.LateLooks != 0 {
			t.Errorf("%+v", got)
		}
		if last := got.Rows[len(got.Rows)-1]; last.Limit != 8 || last.Note != "denies nothing" {
			t.Errorf("the last is %+v", last)
		}
		for _, row := range got.Rows {
			cost := 0.0
			for k := row.Limit + 1; k <= 8; k++ {
				cost += float64(k-row.Limit) / 36
			}
			if math.Abs(row.Cost.Low-cost) > 1e-9 || math.Abs(row.Cost.High-cost) > 1e-9 ||
				row.KeysError != 0 || row.AtLeast {
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

// TestSuggestSharesItsRoom: rules that come later take their part of the memory from those that are
// there.
func TestSuggestSharesItsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const rules = 8
		e := gatetest.New(t, 4<<20, gatetest.Shed) // 256 KiB for samples
		sampled := func() int {
			_, o, _ := e.Observation(gatetest.Shed.Name)
			return o.Keys
		}
		runFor(e, time.Second)
		for k := range 4000 {
			gatetest.Decide(e, e.Now(), gate.Check, gatetest.Shed.Name, fmt.Sprint(k), 1)
		}
		runFor(e, 10*time.Second)
		before := sampled()
		for n := range rules - 1 {
			more := []mitigation.Rule{gatetest.Shed}
			for k := range n + 1 {
				r := gatetest.Shed
				r.Name = fmt.Sprint("r", k)
				more = append(more, r)
			}
			e.Reload(time.Now(), more)
			runFor(e, time.Second)
		}
		if after := sampled(); before < 100 || after > before/rules+1 || after < before/rules/2 {
			t.Errorf("%d keys of a rule that is alone, %d of one of %d", before, after, rules)
		}
	})
}

// TestSuggestBeginsAnew: the figures of an earlier limit go with the limit, and a rule that is off
// has none.
func TestSuggestBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newNode(t, admin.Options{Local: true})
		a.refuse("shadow", "a")
		runFor(a.gate, 20*time.Second)
		if got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) == 0 {
			t.Errorf("nothing was seen: %+v", got)
		}
		a.gate.SetMode("shadow", 0)
		for range 2 {
			if got := askFor[api.SuggestView](t, a,
				"/v1/suggest?rule=shadow"); len(got.Rows) != 0 || got.Offered != 0 {
				t.Errorf("in force: %+v", got)
			}
			runFor(a.gate, 20*time.Second)
		}
		a.refuse("shadow", "b")
		runFor(a.gate, 20*time.Second)
		if got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) == 0 ||
			got.Offered != 5 || got.Keys != 1 {
			t.Errorf("in force, and asked again: %+v", got)
		}
		block := a.gate.Rules()
		block[2].Action, block[2].BlockFor = mitigation.Block, time.Minute
		// another action goes on with the figures, but other limits would have done something else
		a.gate.SetRules(block)
		for range 2 {
			runFor(a.gate, 20*time.Second)
			if got := askFor[api.SuggestView](t, a,
				"/v1/suggest?rule=shadow"); len(got.Rows) != 0 || got.Action != "block" ||
				got.Offered != 0 {
				t.Errorf("another action: %+v", got)
			}
		}
		a.refuse("shadow", "c")
		runFor(a.gate, 20*time.Second)
		if got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=shadow"); len(got.Rows) == 0 ||
			got.Offered != 5 || refusalsOf(t, a, "shadow").Offered != 10 {
			t.Errorf("another action, and asked again: %+v", got)
		}
		if got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=off"); len(got.Rows) != 0 {
			t.Errorf("off: %+v", got)
		}
	})
}

// TestSuggestCountsItsOwn: the refusals of the rule's own limit are counted, blocks included.
func TestSuggestCountsItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newNode(t, admin.Options{Local: true})
		for range 2 { // 3 admitted and 1 refused, then, a window later but still blocked, 4 refused
			for range 4 {
				gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "block", "k", 1)
			}
			runFor(a.gate, 20*time.Second)
		}
		got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=block")
		own := slices.IndexFunc(got.Rows, func(r api.SuggestRow) bool { return r.Limit == 3 })
		if own < 0 || got.Rows[own].Cost != (api.ShareRange{Low: 5.0 / 8, High: 5.0 / 8}) ||
			got.Rows[own].Keys != (api.ShareRange{Low: 1, High: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestSuggestOfASharedRule: the demand of a key at other nodes counts too.
func TestSuggestOfASharedRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newJoined(t, "a", ringtest.NewMeasured(), poptest.Rule(10, 10*time.Second))
		b := newJoined(t, "b", a.tally, poptest.Rule(10, 10*time.Second))
		pass(2*time.Second, a, b)
		for range 3 {
			for _, n := range []*joined{a, b, b} {
				gatetest.Decide(n.gate, n.gate.Now(), gate.Check, "r", "k", 1)
				pass(poptest.Every, a, b)
			}
		}
		for range 40 {
			pass(500*time.Millisecond, a, b)
		}
		got := askFor[api.SuggestView](t, a.node, "/v1/suggest?rule=r")
		at := slices.IndexFunc(got.Rows, func(r api.SuggestRow) bool { return r.Limit == 5 })
		if at < 0 || !got.Shared || got.Offered != 3 ||
			got.Rows[at].Cost != (api.ShareRange{Low: 4.0 / 9, High: 4.0 / 9}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestSuggestTellsWhatItMissed: where slots were short, rows below the figures that are sure say
// "at least"; and looks that came late are counted.
func TestSuggestTellsWhatItMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rule := mitigation.Rule{Name: "r", Limit: 1000, Window: 10 * time.Second}
		a := newNodeOf(gatetest.New(t, 1<<20, rule), admin.Options{Local: true})
		for k := range 20_000 {
			gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "r", fmt.Sprint(k), 1)
		}
		for range 200 {
			gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "r", "heavy", 1)
		}
		runFor(a.gate, 8*time.Second)
		got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=r")
		if got.Sample.BlindTo < 10 || got.Sample.BlindTo > 500 || got.Sample.LateLooks != 0 {
			t.Errorf("sample %+v", got.Sample)
		}
		for _, row := range got.Rows {
			if row.AtLeast != (row.Limit < got.Sample.BlindTo) {
				t.Errorf("blind to %d: %+v", got.Sample.BlindTo, row)
			}
		}
		gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "r", "heavy", 1)
		// and nobody looked: wherever its slot lies, the look before is a window ago
		time.Sleep(rule.Window)
		gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "r", "heavy", 1)
		runFor(a.gate, 6*time.Second)
		if got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=r"); got.Sample.LateLooks == 0 {
			t.Errorf("sample %+v", got.Sample)
		}
	})
}

// TestSuggestBad: a bad request gets a problem.
func TestSuggestBad(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	checkProblem(t, a.ask("GET", "/v1/suggest", ""), http.StatusBadRequest, "rule")
	checkProblem(t, a.ask("GET", "/v1/suggest?rule=none", ""), http.StatusNotFound, "rule")
	checkProblem(t, a.ask("GET", "/v1/suggest?rule=shed&n=1", ""), http.StatusBadRequest, "n")
	checkProblem(t, a.ask("POST", "/v1/suggest?rule=shed", ""),
		http.StatusMethodNotAllowed, "method")
}

// TestObserveBesideDecisions: looking at keys, telling of it, deciding and changing the rules go on
// at the same time.
func TestObserveBesideDecisions(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	start := a.gate.Now()
	var working sync.WaitGroup
	for n := range 4 {
		working.Go(func() {
			for i := range 200 {
				now := start.Add(time.Duration(i) * 50 * time.Millisecond)
				switch n {
				case 0:
					a.gate.Turn(1, now, time.Now())
				case 1:
					a.ask("GET", "/v1/suggest?rule=shed", "")
				case 2:
					a.gate.SetMode("", mitigation.Mode(i/20%3))
				default:
					for k := range 20 {
						gatetest.Decide(a.gate, now, gate.Check, "shed", fmt.Sprint(k), 1)
					}
				}
			}
		})
	}
	working.Wait()
}

// BenchmarkObserve is a turn of the background work that looks at all suspects of a gate with
// 50,000 of them.
func BenchmarkObserve(b *testing.B) {
	g := gatetest.New(b, 64<<20, mitigation.Rule{Name: "r", Limit: 100, Window: 10 * time.Second})
	now := g.Now()
	for k := range 200_000 {
		gatetest.Decide(g, now, gate.Check, "r", fmt.Sprint(k%50_000), 1)
	}
	for b.Loop() {
		now = now.Add(5 * time.Second) // the longest round of looks
		g.Turn(1, now, g.Wall(now))
	}
}
