package pop_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestFirstNodeJoinsAtOnce, and says node until then.
func TestFirstNodeJoinsAtOnce(t *testing.T) {
	edgetest.Alone(t)
	p := newTogether(t, 1, ringtest.NewMemory(1), poptest.Rule(10, time.Second))
	if a := p.Check(0, "r", "k"); a.View != mitigation.Node {
		t.Errorf("before the first flush: %+v", a)
	}
	p.After(2 * poptest.Every)
	if a := p.Check(0, "r", "k"); a.View != mitigation.PoP {
		t.Errorf("after it: %+v", a)
	}
	p.After(400 * time.Second) // a node's own beats and lanes are nobody else's
	if s := p.stats(0); s.Nodes != 1 || s.Clock != health.ClockAgreed || s.Offset != 0 {
		t.Errorf("%d nodes, clock %v, offset %v", s.Nodes, s.Clock, s.Offset)
	}
}

// TestTheMedianIsTheClock: nodes on different clocks number periods by the median of them, of two
// by the clock behind, and say how far ahead their own are. A clock that is more than a minute off
// counts alone.
func TestTheMedianIsTheClock(t *testing.T) {
	edgetest.Alone(t)
	const s = time.Second
	for _, c := range []struct{ ahead, want []time.Duration }{
		{[]time.Duration{0, 20 * s}, []time.Duration{0, 20 * s}},
		{[]time.Duration{0, -20 * s}, []time.Duration{20 * s, 0}},
		{[]time.Duration{0, 300 * s / 1000}, []time.Duration{0, 300 * s / 1000}},
		{[]time.Duration{0, 0, 20 * s, 0}, []time.Duration{0, 0, 20 * s, 0}},
		{[]time.Duration{0, 0, -59 * s, 0}, []time.Duration{0, 0, -59 * s, 0}},
		{[]time.Duration{-3 * s, 0, 4 * s}, []time.Duration{-3 * s, 0, 4 * s}},
		{[]time.Duration{-3 * s, 0, s, 4 * s}, []time.Duration{-3 * s, 0, s, 4 * s}},
		{[]time.Duration{0, 300 * s}, []time.Duration{0, 300 * s}},
		{[]time.Duration{-300 * s, 0, 0}, []time.Duration{-300 * s, 0, 0}},
		{[]time.Duration{8760 * time.Hour, 0, 0}, []time.Duration{8760 * time.Hour, 0, 0}},
	} {
		p := newTogether(t, len(c.ahead), ringtest.NewMemory(3), poptest.Rule(10, time.Second))
		for n := range c.ahead {
			p.Nodes[n].Ahead = c.ahead[n]
		}
		p.After(30 * time.Second)
		for n := range c.ahead {
			want, is := health.ClockAgreed, p.stats(n)
			if c.want[n].Abs() > time.Minute {
				want = health.ClockApart
			}
			if is.Clock != want || (is.Offset-c.want[n]).Abs() > 3*time.Millisecond {
				t.Errorf("%v: node %d: clock %v, offset %v, want %v",
					c.ahead, n, is.Clock, is.Offset, c.want[n])
			}
			p.Nodes[n].Ahead = 0 // mended
		}
		p.After(30 * time.Second)
		for n := range c.ahead {
			if is := p.stats(n); is.Clock != health.ClockAgreed || is.Offset != 0 ||
				is.Nodes != len(c.ahead) {
				t.Errorf("%v, mended: node %d: clock %v, offset %v, %d nodes",
					c.ahead, n, is.Clock, is.Offset, is.Nodes)
			}
		}
	}
}

// TestClocksApartDenyNobody: clients that never exceed their limit, each burst as early as the
// limit permits, at nodes whose clocks differ. In every second case the clock steps in the run:
// then two looks pass first.
func TestClocksApartDenyNobody(t *testing.T) {
	edgetest.Alone(t)
	draw := edgetest.Dice(t)
	for n, ahead := range []time.Duration{
		100 * time.Millisecond, -100 * time.Millisecond, 300 * time.Millisecond,
		-300 * time.Millisecond, 900 * time.Millisecond, -2300 * time.Millisecond,
		23 * time.Second, -23 * time.Second,
	} {
		for k, rule := range []mitigation.Rule{
			poptest.Rule(5, time.Second), poptest.Rule(5, 4*time.Second),
			poptest.Rule(50, 2*time.Second), poptest.Rule(500, 2*time.Second),
			poptest.Rule(20, 10*time.Second),
		} {
			if (n/2+k)%2 < edgetest.Rounds(1, 0) {
				continue
			}
			p := newTogether(t, 2+n%3, ringtest.NewMemory(1+n%2), rule)
			if n%2 == 1 {
				p.After(5 * time.Second)
			}
			p.Nodes[1].Ahead = ahead
			p.After(31 * time.Second)
			if denied := p.bursts(rule, draw); denied > 0 {
				t.Errorf("%d nodes, %v ahead, %d per %v: %d denied",
					len(p.Nodes), ahead, rule.Limit, rule.Window, denied)
			}
		}
	}
}

// bursts asks for clients of rule, at any node, never above the limit but often at it, and returns
// how often they were denied.
func (p *together) bursts(rule mitigation.Rule, draw *rand.Rand) (denied int) {
	for client := range 6 {
		var log []window.Instant
		for n := range 3 * int(rule.Limit) {
			at := p.Now.Add(time.Duration(draw.Int64N(int64(rule.Window) / rule.Limit)))
			if n >= int(rule.Limit) {
				late := time.Millisecond + time.Duration(draw.Int64N(int64(rule.Window)/20))
				at = max(at, log[n-int(rule.Limit)].Add(rule.Window+late))
			}
			p.Until(at)
			log = append(log, p.Now)
			if p.Check(draw.IntN(len(p.Nodes)), "r", fmt.Sprint("c", client)).Deny {
				denied++
			}
		}
	}
	return denied
}

// TestBeatsSurviveServers: a server that lies or forgets changes nothing while others do not.
func TestBeatsSurviveServers(t *testing.T) {
	edgetest.Alone(t)
	m := ringtest.NewMemory(3)
	p := newTogether(t, 3, m, poptest.Rule(10, time.Second))
	p.After(5 * time.Second)
	for n := range 40 {
		m.Overwrite(0, uint64(n)*12345)
		m.Restart(1 + n%2)
		p.After(3 * time.Second)
		for node := range p.Nodes {
			if s := p.stats(node); s.Clock != health.ClockAgreed || s.Nodes != 3 {
				t.Fatalf("after %d s: clock %v, %d nodes", 3*n, s.Clock, s.Nodes)
			}
		}
	}
}

// TestStepsOfAllClocks: nodes whose clocks step together, or that are alone, do not count alone.
func TestStepsOfAllClocks(t *testing.T) {
	edgetest.Alone(t)
	for _, nodes := range []int{1, 3} {
		for _, by := range []time.Duration{
			700 * time.Millisecond, -700 * time.Millisecond,
			5 * time.Second, 200 * time.Second, -200 * time.Second,
		} {
			p := newTogether(t, nodes, ringtest.NewMemory(1), poptest.Rule(10, time.Second))
			p.After(20 * time.Second)
			for n := range nodes {
				p.Nodes[n].Ahead = by
			}
			for range 100 {
				p.After(poptest.Every)
				if p.Nodes[0].Gate.Degraded() {
					t.Fatalf("%d nodes stepped by %v: degraded", nodes, by)
				}
			}
			if s := p.stats(0); s.Clock != health.ClockAgreed || s.Nodes != nodes {
				t.Errorf("%d nodes stepped by %v: clock %v, %d agree", nodes, by, s.Clock, s.Nodes)
			}
		}
	}
}
