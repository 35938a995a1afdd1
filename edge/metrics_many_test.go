//go:build !race

package edge

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// manyKeys returns a node with as many rules as there may be that has met a million keys and refused some.
func manyKeys(tb testing.TB) *Admin {
	tb.Helper()
	rules := manyRules(3)
	e := newTestEdge(tb, 64<<20, rules...)
	now, lane, d := e.Now(), e.Lane(0), Decision{}
	q := wire.Query{Op: wire.Check, Cost: 1}
	key := []byte("stranger-")
	for k := range uint64(1_000_000) {
		if k%1000 == 0 {
			now = now.Add(time.Millisecond)
		}
		q.Rule, q.Key = []byte(rules[k%mitigation.MaxRules].Name), strconv.AppendUint(key, k, 10)
		lane.DecideTo(&d, now, k, &q)
		for d.Answer.Status == wire.Allow && k < mitigation.MaxRules {
			lane.DecideTo(&d, now, k, &q)
		}
	}
	return NewAdmin(e, AdminOptions{Local: true, Doors: metricsDoors()})
}

// scrapeBudget is what a page of metrics may take; a test on a busy machine allows for the others there.
const scrapeBudget = 50 * time.Millisecond

// TestMetricsOfAMillionKeys: neither their number nor anything of them shows in the number of series or in a label.
func TestMetricsOfAMillionKeys(t *testing.T) {
	a := manyKeys(t)
	best := time.Hour
	var lines []string
	for range 5 {
		start := time.Now()
		lines = scrape(t, a)
		best = min(best, time.Since(start))
	}
	t.Logf("%d series in %v", len(lines), best)
	if bound := 50 + 20*mitigation.MaxRules; len(lines) > bound {
		t.Errorf("%d series, more than %d", len(lines), bound)
	}
	if page := strings.Join(lines, "\n"); strings.Contains(page, "stranger") {
		t.Error("a key in a label")
	}
	if best > 5*scrapeBudget {
		t.Errorf("a scrape takes %v at best", best)
	}
	met := 0.0
	for _, line := range lines {
		if value, ok := strings.CutPrefix(line, `headgate_rule_keys{rule="rule-7"} `); ok {
			met, _ = strconv.ParseFloat(value, 64)
		}
	}
	if met < 900 || met > 1100 {
		t.Errorf("%v keys met by a rule, want about 1000", met)
	}
}

// BenchmarkMetrics scrapes a node with as many rules as there may be, that has met a million keys.
func BenchmarkMetrics(b *testing.B) {
	a := manyKeys(b)
	for b.Loop() {
		a.ask("GET", "/metrics", "")
	}
	if per := b.Elapsed() / time.Duration(b.N); per > scrapeBudget {
		b.Errorf("%v a scrape, more than %v", per, scrapeBudget)
	}
}

// TestMitigationsPageIsCheap: the first page over 10,000 flags has its rows, and copies hardly any flag that is not on it. How
// long it takes is for BenchmarkAdminMitigations to say.
func TestMitigationsPageIsCheap(t *testing.T) {
	a := tenThousand(t)
	page := askFor[MitigationsView](t, a, "/v1/mitigations")
	if len(page.Mitigations) != mitigationsPage || page.Total != 10_000 || page.NextCursor == "" {
		t.Errorf("%d rows of %d", len(page.Mitigations), page.Total)
	}
	if n := testing.AllocsPerRun(5, func() { a.ask("GET", "/v1/mitigations", "") }); n > 2_500 {
		t.Errorf("%v allocations, want a few a row", n)
	}
}
