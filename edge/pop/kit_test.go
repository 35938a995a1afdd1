package pop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// together are the nodes of one PoP on virtual time, and the loads of these tests.
type together struct{ *poptest.Together }

func newTogether(
	t testing.TB, nodes int, tally *ringtest.Memory, rules ...mitigation.Rule,
) *together {
	t.Helper()
	return &together{poptest.NewTogether(t, nodes, tally, rules...)}
}

// stats returns how node n's flusher stands.
func (p *together) stats(n int) pop.Stats { return p.Nodes[n].Flusher.Stats(p.Now) }

// judge has node n look now at which servers are lost.
func (p *together) judge(n int) { p.Nodes[n].Gate.Turn(1, p.Now, p.Wall(p.Nodes[n])) }

// flood offers times the limit for so long, evenly over the nodes, and returns what was admitted in
// each window, one after the other, as shares of the limit; the last window, cut short, is left
// out.
func (p *together) flood(r mitigation.Rule, times float64, d time.Duration) []float64 {
	return p.floodAt(r, times, d, func(n int) int { return n % len(p.Nodes) })
}

func (p *together) floodAt(
	r mitigation.Rule, times float64, d time.Duration, node func(n int) int,
) []float64 {
	gap, began := time.Duration(float64(r.Window)/(times*float64(r.Limit))), p.Now
	admitted := make([]float64, d/r.Window+1)
	for n := 0; p.Now.Sub(began) < d; n++ {
		p.After(gap)
		if !p.Check(node(n), r.Name, "k").Deny {
			admitted[p.Now.Sub(began)/r.Window] += 1 / float64(r.Limit)
		}
	}
	return admitted[:len(admitted)-1]
}

// below asks at 0.8 of the limit for so long, every key at every node, and fails on any refusal.
func (p *together) below(
	t *testing.T, rule mitigation.Rule, keys int, d time.Duration, during func(n int),
) {
	t.Helper()
	gap := time.Duration(float64(rule.Window) / (0.8 * float64(rule.Limit)) / float64(keys))
	began := p.Now
	for n := 0; p.Now.Sub(began) < d; n++ {
		p.After(gap)
		during(n)
		if a := p.Check(n/keys%len(p.Nodes), rule.Name, fmt.Sprint("good", n%keys)); a.Deny {
			t.Fatalf("%v: request %d refused: %+v", p.Now.Sub(began), n, a)
		}
	}
}

// keysOfTwo returns a key whose counters under every rule are on the first server (true), and one
// of another.
func (p *together) keysOfTwo(t *testing.T) map[bool]string {
	t.Helper()
	served, rules := map[bool]string{}, p.Nodes[0].Gate.Figures()
	for k := 0; len(served) < 2; k++ {
		key, first := fmt.Sprint("key", k), 0
		for _, r := range rules {
			p.Check(0, r.Name, key)
		}
		p.After(poptest.Every)
		for _, r := range rules {
			if p.serverOf(t, r.Name, key) == 0 {
				first++
			}
		}
		if first == 0 || first == len(rules) {
			served[first > 0] = key
		}
	}
	return served
}

// serverOf returns the server that counts key under rule, as the first node knows it.
func (p *together) serverOf(t *testing.T, rule, key string) int {
	t.Helper()
	is, _ := p.Nodes[0].Gate.Inspect(p.Now, 0, rule, []byte(key), nil)
	if is.Evidence.Shared == nil || is.Evidence.Shared.Server < 0 {
		t.Fatalf("%s of %s: no server known", key, rule)
	}
	return is.Evidence.Shared.Server
}
