package global

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestClocksOfPoPsApart: nodes whose clocks are up to 23 s apart deny nobody below the limit, and
// hold a flood of two limits to the limit.
func TestClocksOfPoPsApart(t *testing.T) {
	edgetest.Alone(t) // TestSimulator runs the same with goroutines
	const s = time.Second
	for n, c := range []struct {
		pops  []int
		rings bool
		full  bool
		ahead []time.Duration
	}{
		{[]int{1, 1, 1}, false, false, []time.Duration{0, 0, 0}},
		{[]int{1, 1, 1}, false, false, []time.Duration{0, s * 3 / 10, -s * 3 / 10}},
		{[]int{1, 1, 1}, false, false, []time.Duration{0, 0, 23 * s}},
		{[]int{1, 1}, false, false, []time.Duration{0, -7 * s}},
		{[]int{1, 1, 1}, false, true, []time.Duration{2 * s, 0, -3 * s}},
		{[]int{2, 2, 1}, true, false, []time.Duration{0, 0, 5 * s, 5 * s, -9 * s}},
		{[]int{2, 2}, true, false, []time.Duration{0, 4 * s, 0, -s}},
	} {
		for k, rule := range []mitigation.Rule{
			{Name: "r", Limit: 20, Window: 4 * s, Scope: mitigation.Global},
			{Name: "r", Limit: 300, Window: 10 * s, Scope: mitigation.Global},
			{Name: "r", Limit: 1000, Window: s, Scope: mitigation.Global},
		} {
			if n%3 != k && !edgetest.Soak {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				clocksApart(t, &simPlan{
					seed: uint64(rule.Limit), full: c.full, pops: c.pops,
					ring:  slices.Repeat([]bool{c.rings}, len(c.pops)),
					rules: []mitigation.Rule{rule},
				}, c.ahead)
			})
		}
	}
}

// clocksApart is the test for nodes whose clocks are so far ahead. A clock that fell behind is
// known after 20 s.
func clocksApart(t *testing.T, plan *simPlan, ahead []time.Duration) {
	s := startSim(t, plan)
	for n := range s.nodes {
		s.nodes[n].ahead = ahead[n]
	}
	const from, end = 25 * time.Second, 65 * time.Second
	rule := &plan.rules[0]
	every := rule.Window / time.Duration(2*rule.Limit) // two limits
	flood, next := 0, make([]time.Duration, 8)
	var passed, denied float64
	for step := 1; s.at < end; step++ {
		if s.step(step); s.at == from {
			passed = 0
		}
		for ; time.Duration(flood)*every < s.at; flood++ {
			if !s.nodes[flood%len(s.nodes)].decide("r", []byte("flood")).Deny {
				passed++
			}
		}
		for n := range next { // a burst of the limit over all nodes, and the next after a window
			if s.at < next[n] {
				continue
			}
			next[n] = s.at + rule.Window + rule.Window/20 + simStep*time.Duration(n)
			for k := range int(rule.Limit) {
				d := s.nodes[(n+k)%len(s.nodes)].decide("r", fmt.Append(nil, "good", n))
				if s.at > from && d.Deny {
					denied++
				}
			}
		}
	}
	share := passed / float64(rule.Limit) * float64(rule.Window) / float64(end-from)
	if denied > 0 || share < 0.95 || share > 1.15 {
		t.Errorf("nodes %v, memberlist %v, ahead %v, %d per %v: %v denied, %.3f limits passed",
			plan.pops, plan.full, ahead, rule.Limit, rule.Window, denied, share)
	}
}
