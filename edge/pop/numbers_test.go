package pop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
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
	edgetest.Alone(t)
	// Of a limit above window.SmallLimit nodes pace what is above it.
	for limit, step := range map[int64]time.Duration{
		100: 4 * time.Millisecond, window.SmallLimit + 100: 2 * time.Millisecond,
	} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) { numbersOverThePoP(t, limit, step) })
	}
}

func numbersOverThePoP(t *testing.T, limit int64, step time.Duration) {
	const nodes = 3
	rule := poptest.Rule(limit, 20*time.Second)
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
	asked := map[string][]window.Instant{} // a key that asks for more is shed, whatever passed
	changed := map[string]window.Instant{}
	denied := 0
	for range 120_000 {
		p.After(time.Duration(p.Rand.Int64N(int64(step))))
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
		offers := append(asked[key], p.Now)
		for p.Now.Sub(offers[0]) > rule.Window {
			offers = offers[1:]
		}
		asked[key] = offers
		if d := p.Check(p.Rand.IntN(nodes), "r", key); !d.Deny {
			log = append(log, p.Now)
		} else if denied++; int64(len(log)) < least-least/50 &&
			(d.Why != mitigation.ByShed || int64(len(offers)) <= least) {
			t.Fatalf("%s: denied with %d of %d: %+v", key, len(log), least, d)
		}
		if int64(len(log)) > greatest[key]*11/10+int64(100*time.Millisecond/step) {
			t.Fatalf("%s: %d passed of at most %d", key, len(log), greatest[key])
		}
		logs[key] = log
	}
	if denied < 10_000 {
		t.Errorf("%d denied: too few to say anything", denied)
	}
}

// TestNumbersOfBuckets: a bucket over the PoP that is a key's number lets pass as much as a rule of
// that bucket, whatever the rule's own.
func TestNumbersOfBuckets(t *testing.T) {
	edgetest.Alone(t)
	for _, own := range []mitigation.Number{{Limit: 20, Burst: 5}, {Limit: 600, Burst: 200}} {
		var passed []int
		wide, narrow := mitigation.Number{
			Limit: 3000,
			Burst: 30,
		}, mitigation.Number{
			Limit: 7,
			Burst: 70,
		}
		for _, by := range []mitigation.Number{own, wide, narrow} {
			rule := mitigation.Rule{
				Name: "r", Kind: mitigation.Bucket, Limit: by.Limit, Burst: by.Burst,
				Window: 10 * time.Second, Scope: mitigation.PoP,
			}
			p := newTogether(t, 3, ringtest.NewMemory(3), rule)
			if by != own {
				rule.Numbers = &mitigation.Numbers{
					Set: "t", List: []mitigation.Number{own}, Find: func([]byte) int { return 0 },
				}
				for n := range p.Nodes {
					p.Nodes[n].Gate.SetRules([]mitigation.Rule{rule})
				}
			}
			p.After(5 * time.Second)
			floods, end := 0, p.Now.Add(time.Minute)
			for p.Now < end {
				p.After(time.Duration(p.Rand.Int64N(int64(4*time.Second) / own.Limit)))
				if !p.Check(p.Rand.IntN(3), "r", "flood").Deny { // 5 times the refill
					floods++
				}
			}
			passed = append(passed, floods)
		}
		t.Logf("%v: %v", own, passed)
		for _, n := range passed[1:] {
			if float64(n) > 1.1*float64(passed[0]) || float64(n) < 0.9*float64(passed[0]) {
				t.Errorf("%v: %d pass as the rule, %d as a number", own, passed[0], n)
			}
		}
	}
}
