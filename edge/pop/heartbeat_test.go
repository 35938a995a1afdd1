package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestFirstNodeJoinsAtOnce, and says node until then.
func TestFirstNodeJoinsAtOnce(t *testing.T) {
	p := newTogether(t, 1, ringtest.NewMemory(1), poptest.Rule(10, time.Second))
	if a := p.Check(0, "r", "k"); a.View != mitigation.Node {
		t.Errorf("before the first flush: %+v", a)
	}
	p.After(2 * poptest.Every)
	if a := p.Check(0, "r", "k"); a.View != mitigation.PoP {
		t.Errorf("after it: %+v", a)
	}
	p.After(400 * time.Second) // own beats are nobody else's
	if got := p.Nodes[0].Flusher.OwnBeats(); got > pop.HeartbeatTTL+1 {
		t.Errorf("%d beats remembered", got)
	}
	if s, alone := p.stats(0), p.Nodes[0].Flusher.SeesNobody(); s.Nodes != 1 ||
		s.Clock != health.ClockAgreed || !alone {
		t.Errorf("%d nodes, clock %v, nobody else seen %v", s.Nodes, s.Clock, alone)
	}
}

// TestNodesThatDiedAreNotFollowed: old beats only grow older.
func TestNodesThatDiedAreNotFollowed(t *testing.T) {
	p := newTogether(t, 2, ringtest.NewMemory(1), poptest.Rule(10, time.Second))
	first, late := p.Nodes[:1], p.Nodes[1:]
	p.SetNodes(first)
	p.After(30 * time.Second)
	p.SetNodes(late) // the first one is gone, the second comes half a minute later
	p.Skip(30 * time.Second)
	p.After(time.Second)
	if p.agreed(0) {
		t.Error("joined though somebody else may be alive on another clock")
	}
	p.After(3 * time.Second)
	if !p.agreed(0) {
		t.Error("did not join once the others were known to be dead")
	}
}

// TestOneOfTwoGivesWay: of two nodes that start together on different clocks the one behind counts
// alone.
func TestOneOfTwoGivesWay(t *testing.T) {
	p := newTogether(t, 2, ringtest.NewMemory(3), poptest.Rule(10, time.Second))
	p.Nodes[1].Ahead = 20 * time.Second
	p.After(60 * time.Second)
	behind, ahead := p.stats(0), p.stats(1)
	if behind.Clock != health.ClockApart || behind.Skew != -20*time.Second ||
		ahead.Clock != health.ClockAgreed {
		t.Errorf("behind: clock %v, skew %v; ahead: clock %v", behind.Clock,
			behind.Skew, ahead.Clock)
	}
}

// TestTheMinorityGivesWay: one of four that started together is ahead; the three stay.
func TestTheMinorityGivesWay(t *testing.T) {
	sequential(t)
	for _, wrong := range []time.Duration{20 * time.Second, -20 * time.Second} {
		p := newTogether(t, 4, ringtest.NewMemory(3), poptest.Rule(10, time.Second))
		p.Nodes[2].Ahead = wrong
		p.After(100 * time.Second)
		for n := range p.Nodes {
			want := health.ClockAgreed
			if n == 2 {
				want = health.ClockApart
			}
			if s := p.stats(n); s.Clock != want {
				t.Errorf("%v wrong: node %d: clock %v, skew %v", wrong, n, s.Clock, s.Skew)
			}
		}
	}
}

// TestBeatsSurviveServers: a server that lies or forgets changes nothing while others do not.
func TestBeatsSurviveServers(t *testing.T) {
	sequential(t)
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

// TestAClockBeyondTheHorizon: others are alive, though on a clock too far away to be looked for.
func TestAClockBeyondTheHorizon(t *testing.T) {
	for _, wrong := range []time.Duration{5 * time.Minute, -5 * time.Minute, 8760 * time.Hour} {
		p := newTogether(t, 2, ringtest.NewMemory(3), poptest.Rule(10, time.Second))
		far := p.Nodes[1]
		far.Ahead = wrong
		p.SetNodes(p.Nodes[:1])
		p.After(10 * time.Second)
		for range 5 {
			p.After(3 * time.Second)
			far.Flusher.Flush(t.Context(), p.Now, p.Wall(far))
			if s := far.Flusher.Stats(p.Now); s.Clock != health.ClockApart || s.Skew != 0 {
				t.Fatalf("%v wrong: clock %v, skew %v", wrong, s.Clock, s.Skew)
			}
		}
		p.After(3 * time.Second)
		far.Ahead = 0 // mended
		far.Flusher.Flush(t.Context(), p.Now, p.Wall(far))
		if s := far.Flusher.Stats(p.Now); s.Clock != health.ClockAgreed {
			t.Errorf("%v wrong, mended: clock %v", wrong, s.Clock)
		}
	}
}

// TestStepsOfAllClocks: nodes whose clocks step together, or that are alone, do not count alone.
func TestStepsOfAllClocks(t *testing.T) {
	sequential(t)
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
