package pop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// tableOf returns the numbers of a node that finds them in at, by key.
func tableOf(at map[string]int64) *mitigation.Numbers {
	n := &mitigation.Numbers{Set: "t"}
	for _, limit := range []int64{40, 137, 150, 700, 6000} {
		n.List = append(n.List, mitigation.Number{Limit: limit})
	}
	n.Find = func(key []byte) int { return n.Place(mitigation.Number{Limit: at[string(key)]}) }
	return n
}

// TestNumbersOverThePoP: keys with numbers of their own, which change at one node and some time
// later at the others, against an exact log: nobody is denied below the least number that a node
// has for the key (but for the 2 % of a log that is coarse, of a greater number before), and no
// more passes than the greatest of the last window, and the overshoot of nodes together.
func TestNumbersOverThePoP(t *testing.T) {
	sequential(t)
	const nodes = 3
	rule := poptest.Rule(100, 20*time.Second)
	tables := make([]map[string]int64, nodes)
	p := newTogether(t, nodes, ringtest.NewMemory(3), rule)
	for n := range tables {
		tables[n] = map[string]int64{"k1": 40, "k2": 137, "k3": 700, "k4": 6000}
		with := rule
		with.Numbers = tableOf(tables[n])
		p.Nodes[n].Gate.SetRules([]mitigation.Rule{with})
	}
	p.After(5 * time.Second)
	type late struct {
		at    window.Instant
		node  int
		key   string
		limit int64
	}
	var waiting []late
	logs, greatest := map[string][]window.Instant{}, map[string]int64{}
	changed := map[string]window.Instant{}
	denied := 0
	for range 120_000 {
		p.After(time.Duration(p.Rand.Int64N(int64(4 * time.Millisecond))))
		for len(waiting) > 0 && waiting[0].at <= p.Now {
			w := waiting[0]
			waiting = waiting[1:]
			tables[w.node][w.key] = w.limit
		}
		if len(waiting) == 0 && p.Rand.IntN(4000) == 0 {
			key := fmt.Sprint("k", 1+p.Rand.IntN(4))
			limit := []int64{0, 40, 137, 150, 700, 6000}[p.Rand.IntN(6)] // 0: the rule's
			for n := range nodes {
				at := p.Now.Add(time.Duration(n) * 3 * time.Second)
				waiting = append(waiting, late{at, n, key, limit})
			}
			changed[key] = p.Now
		}
		key := fmt.Sprint("k", 1+p.Rand.IntN(5))
		least, most := int64(1<<40), int64(0)
		for n := range nodes {
			limit := tables[n][key]
			if limit == 0 {
				limit = rule.Limit
			}
			least, most = min(least, limit), max(most, limit)
		}
		if p.Now.Sub(changed[key]) > rule.Window+8*time.Second {
			greatest[key] = most
		}
		greatest[key] = max(greatest[key], most)
		log := logs[key]
		for len(log) > 0 && p.Now.Sub(log[0]) > rule.Window {
			log = log[1:]
		}
		if d := p.Check(p.Rand.IntN(nodes), "r", key); !d.Deny {
			log = append(log, p.Now)
		} else if denied++; int64(len(log)) < least-least/50 {
			t.Fatalf("%s: denied with %d of %d: %+v", key, len(log), least, d)
		}
		if int64(len(log)) > greatest[key]*11/10+25 {
			t.Fatalf("%s: %d passed of at most %d", key, len(log), greatest[key])
		}
		logs[key] = log
	}
	if denied < 10_000 {
		t.Errorf("%d denied: too few to say anything", denied)
	}
}
