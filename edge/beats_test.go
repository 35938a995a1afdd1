package edge

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// TestFirstNodeJoinsAtOnce, and says node until then.
func TestFirstNodeJoinsAtOnce(t *testing.T) {
	p := newTogether(t, 1, newMemory(1), popRule(10, time.Second))
	if a := p.check(0, "r", "k"); a.View != wire.ViewNode {
		t.Errorf("before the first flush: %+v", a)
	}
	p.after(2 * testEvery)
	if a := p.check(0, "r", "k"); a.View != wire.ViewPoP {
		t.Errorf("after it: %+v", a)
	}
	p.after(400 * time.Second) // own beats are nobody else's
	if got := len(p.pops[0].beats.own); got > beatLife+1 {
		t.Errorf("%d beats remembered", got)
	}
	if p.pops[0].beats.nodes() != 1 || !p.pops[0].beats.joined || p.pops[0].beats.edge != unclear {
		t.Errorf("%d nodes, joined %v, others at %d", p.pops[0].beats.nodes(), p.pops[0].beats.joined, p.pops[0].beats.edge)
	}
}

// TestNodesThatDiedAreNotFollowed: old beats only grow older.
func TestNodesThatDiedAreNotFollowed(t *testing.T) {
	p := newTogether(t, 2, newMemory(1), popRule(10, time.Second))
	late := p.pops[1]
	p.pops, p.nodes = p.pops[:1], p.nodes[:1]
	p.after(30 * time.Second)
	p.pops[0] = late // the first one is gone, the second comes half a minute later
	p.step += 300
	p.now = p.now.Add(30 * time.Second)
	p.after(time.Second)
	if late.beats.joined {
		t.Error("joined though somebody else may be alive on another clock")
	}
	p.after(3 * time.Second)
	if !late.beats.joined || late.beats.apart.Load() {
		t.Error("did not join once the others were known to be dead")
	}
}

// TestOneOfTwoGivesWay: of two nodes that start together on different clocks the one behind counts alone.
func TestOneOfTwoGivesWay(t *testing.T) {
	p := newTogether(t, 2, newMemory(3), popRule(10, time.Second))
	p.wrong[1] = 20 * time.Second
	p.after(60 * time.Second)
	behind, ahead := p.pops[0].beats, p.pops[1].beats
	if behind.joined || !behind.apart.Load() || behind.skew.Load() != -20 || !ahead.joined || ahead.apart.Load() {
		t.Errorf("behind: joined %v, skew %d; ahead: joined %v", behind.joined, behind.skew.Load(), ahead.joined)
	}
}

// TestTheMinorityGivesWay: one of four that started together is ahead; the three stay.
func TestTheMinorityGivesWay(t *testing.T) {
	for _, wrong := range []time.Duration{20 * time.Second, -20 * time.Second} {
		p := newTogether(t, 4, newMemory(3), popRule(10, time.Second))
		p.wrong[2] = wrong
		p.after(100 * time.Second)
		for n, pop := range p.pops {
			if b := pop.beats; b.joined != (n != 2) || b.apart.Load() != (n == 2) {
				t.Errorf("%v wrong: node %d joined %v, apart %v, skew %d", wrong, n, b.joined, b.apart.Load(), b.skew.Load())
			}
		}
	}
}

// TestBeatsSurviveServers: a server that lies or forgets changes nothing while others do not.
func TestBeatsSurviveServers(t *testing.T) {
	m := newMemory(3)
	p := newTogether(t, 3, m, popRule(10, time.Second))
	p.after(5 * time.Second)
	for n := range 40 {
		for k := range m.totals[0] {
			m.totals[0][k] = uint64(n) * 12345
		}
		m.restart(1 + n%2)
		p.after(3 * time.Second)
		for _, pop := range p.pops {
			if b := pop.beats; !b.joined || b.nodes() != 3 {
				t.Fatalf("after %d s: joined %v, %d nodes", 3*n, b.joined, b.nodes())
			}
		}
	}
}

// TestAClockBeyondTheHorizon: others are alive, though on a clock too far away to be looked for.
func TestAClockBeyondTheHorizon(t *testing.T) {
	for _, wrong := range []time.Duration{5 * time.Minute, -5 * time.Minute, 8760 * time.Hour} {
		p := newTogether(t, 2, newMemory(3), popRule(10, time.Second))
		nodes, pops := p.nodes, p.pops
		p.nodes, p.pops = nodes[:1], pops[:1]
		p.after(10 * time.Second)
		for range 5 {
			p.after(3 * time.Second)
			pops[1].Flush(t.Context(), p.now, p.began.Add(p.now.Sub(p.start)+wrong))
			if b := pops[1].beats; b.joined || !b.apart.Load() || b.skew.Load() != 0 {
				t.Fatalf("%v wrong: joined %v, apart %v, skew %d", wrong, b.joined, b.apart.Load(), b.skew.Load())
			}
		}
		p.after(3 * time.Second)
		pops[1].Flush(t.Context(), p.now, p.began.Add(p.now.Sub(p.start))) // mended
		if b := pops[1].beats; !b.joined || b.apart.Load() {
			t.Errorf("%v wrong, mended: joined %v", wrong, b.joined)
		}
	}
}

// TestStepsOfAllClocks: nodes whose clocks step together, or that are alone, are not apart from anybody.
func TestStepsOfAllClocks(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, by := range []time.Duration{700 * time.Millisecond, -700 * time.Millisecond, 5 * time.Second, 200 * time.Second, -200 * time.Second} {
			p := newTogether(t, nodes, newMemory(1), popRule(10, time.Second))
			p.after(20 * time.Second)
			for n := range nodes {
				p.wrong[n] = by
			}
			for range 100 {
				p.after(testEvery)
				if p.nodes[0].Degraded() {
					t.Fatalf("%d nodes stepped by %v: degraded", nodes, by)
				}
			}
			if !p.pops[0].beats.joined || p.pops[0].beats.nodes() != nodes {
				t.Errorf("%d nodes stepped by %v: joined %v, %d agree", nodes, by, p.pops[0].beats.joined, p.pops[0].beats.nodes())
			}
		}
	}
}
