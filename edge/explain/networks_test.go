package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestExplainNetworks: the key of a network says how many narrower keys asked, and that its limit
// denies nothing before.
func TestExplainNetworks(t *testing.T) {
	t.Parallel()
	rule := gatetest.Shed
	rule.Name, rule.Siblings = "shed/24,56", 2
	g := gatetest.New(t, 1<<20, rule)
	const key = "203.0.113.0/24"
	now := g.Now()
	for n, want := range []string{
		"Of the narrower keys in it 1 asked in the last 10s: below 2 its limit denies nothing.",
		"Of the narrower keys in it at least 2 asked in the last 10s, so its limit is in force.",
	} {
		for range 4 {
			a := gatetest.Ask(gate.Check, rule.Name, key, 1)
			a.Parts = &gate.Parts{Narrower: fmt.Appendf(nil, "203.0.113.%d", n)}
			if _, err := g.Lane(0).Decide(now, 0, a); err != nil {
				t.Fatal(err)
			}
		}
		v, ok := explain.Key(explain.Sources{Gate: g}, now, 0,
			explain.About{Rule: rule.Name, Key: []byte(key)})
		text := strings.Join(v.Sentences, "\n")
		if !ok || !slices.Contains(v.Sentences, want) || v.Siblings.Asked != n+1 ||
			v.Siblings.Needed != 2 || v.Verdict != []string{"allow", "deny"}[n] {
			t.Errorf("after %d: %s, %+v:\n%s", n+1, v.Verdict, v.Siblings, text)
		}
		if few := strings.Contains(text,
			"denied once 2 narrower keys ask within 10s"); few != (n == 0) {
			t.Errorf("after %d:\n%s", n+1, text)
		}
	}
}

// TestExplainBlast: a block says how many clients it denies, and from how many on it sheds instead.
func TestExplainBlast(t *testing.T) {
	t.Parallel()
	rule := gatetest.Block
	rule.MaxBlast, rule.RetrySpread = 40, mitigation.Whole/5
	g := gatetest.New(t, 1<<20, rule)
	now := g.Now()
	for n := range 1000 {
		a := gatetest.Ask(gate.Check, rule.Name, "k", 1)
		a.Parts = &gate.Parts{Client: fmt.Appendf(nil, "client %d", n)}
		if _, err := g.Lane(0).Decide(now, 0, a); err != nil {
			t.Fatal(err)
		}
		want := map[int]string{
			8:   "above max_blast 40 a block sheds instead.",
			999: "more than max_blast 40, so it sheds instead.",
		}[n]
		if want == "" {
			continue
		}
		v, _ := explain.Key(explain.Sources{Gate: g}, now, 0,
			explain.About{Rule: rule.Name, Key: []byte("k")})
		if text := strings.Join(v.Sentences, "\n"); !strings.Contains(text, want) {
			t.Errorf("after %d, want %q:\n%s", n+1, want, text)
		}
		if b := v.Blast; b == nil || b.Most != 40 || b.Sheds != (n == 999) ||
			b.Sheds != (b.Clients > 40) || b.Clients < n*2/3-2 || v.RetrySpread != 0.2 {
			t.Errorf("after %d: %+v, retry spread %v", n+1, b, v.RetrySpread)
		}
		if m := v.Flag; m == nil || (m.Action == "shed") != (m.Blast > 40) ||
			(m.Action == "block") != (m.Blast == 0) {
			t.Errorf("after %d: %+v", n+1, m)
		}
	}
}
