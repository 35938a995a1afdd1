//go:build !race

package metrics_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// manyKeys returns a node with as many rules as there may be that has met a million keys and
// refused some.
func manyKeys(tb testing.TB) *node {
	tb.Helper()
	rules := make([]mitigation.Rule, mitigation.MaxRules)
	for n := range rules {
		rules[n] = mitigation.Rule{
			Name: fmt.Sprintf("rule-%d", n), Limit: 3,
			Window: 10 * time.Second,
		}
	}
	e := gatetest.New(tb, 64<<20, rules...)
	now, lane, d := e.Now(), e.Lane(0), gate.Decision{}
	q := gate.Ask{Op: gate.Check, Cost: 1}
	key := []byte("stranger-")
	for k := range uint64(1_000_000) {
		if k%1000 == 0 {
			now = now.Add(time.Millisecond)
		}
		q.Rule, q.Key = []byte(rules[k%mitigation.MaxRules].Name), strconv.AppendUint(key, k, 10)
		_ = lane.DecideTo(&d, now, k, &q)
		for !d.Deny && k < mitigation.MaxRules {
			_ = lane.DecideTo(&d, now, k, &q)
		}
	}
	return newNode(sources(tb, e))
}

// scrapeBudget is the most that a page of metrics may take, for BenchmarkMetrics.
const scrapeBudget = 50 * time.Millisecond

// TestMetricsOfAMillionKeys: neither their number nor anything of them shows in the number of
// series or in a label. How long a scrape takes is for BenchmarkMetrics to say.
func TestMetricsOfAMillionKeys(t *testing.T) {
	a := manyKeys(t)
	lines := a.scrape(t)
	if bound := 50 + 20*mitigation.MaxRules; len(lines) > bound {
		t.Errorf("%d series, more than %d", len(lines), bound)
	}
	if page := strings.Join(lines, "\n"); strings.Contains(page, "stranger") {
		t.Error("a key in a label")
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
		a.page(b)
	}
	if per := b.Elapsed() / time.Duration(b.N); per > scrapeBudget {
		b.Errorf("%v a scrape, more than %v", per, scrapeBudget)
	}
}
