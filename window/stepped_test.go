package window

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// lapses has the counters of p end as those of a server do.
func (p *pop) lapses() {
	lapse, totals := map[uint32]Instant{}, map[uint32]uint64{} // of the counters, by period
	p.tally = func(d *Due) uint64 {
		if lapse[d.Period] < p.now {
			lapse[d.Period], totals[d.Period] = p.now.Add(d.TTL), 0
		}
		totals[d.Period] += d.Delta
		return totals[d.Period]
	}
}

// backTo runs a single node whose wall clock is ahead by ahead from 5 s to 9 s, and for 20 s more.
// It asks for a key every 10 ms. check is called after each flush.
func backTo(window, ahead time.Duration, check func(p *pop, asked int64)) {
	p := newPop(1, Limit{Name: "r", Limit: 100 * int64(window/time.Second) * 3 / 2, Window: window})
	p.lapses()
	for n := range int64(2900) {
		p.now = start.Add(time.Duration(n) * 10 * time.Millisecond)
		p.ask(0, "r", "k")
		if n%10 != 9 {
			continue
		}
		wall := time.Duration(0)
		if n >= 500 && n < 900 {
			wall = ahead
		}
		p.flushAt(p.now, wall)
		check(p, n+1)
	}
}

// TestOwnCountsFromBeforeAStepBack: a node that has the ring for itself never takes what it added
// to a counter while its clock was ahead for another node's cost, however many periods it goes
// through again.
func TestOwnCountsFromBeforeAStepBack(t *testing.T) {
	edgetest.Alone(t)
	for _, window := range []time.Duration{time.Second, 10 * time.Second} {
		for _, ahead := range []time.Duration{
			400 * time.Millisecond, 2600 * time.Millisecond,
			15 * time.Second, time.Hour,
		} {
			worst := 0.0
			backTo(window, ahead, func(p *pop, asked int64) {
				m := p.nodes[0].Meter("r")
				if got := m.Evidence(p.now,
					m.Index([]byte("k"))).Admitted; got > min(asked,
					100*int64(window/time.Second))+2 {
					t.Fatalf("a window of %v, %v ahead: after %d requests %d are known",
						window, ahead, asked, got)
				}
				st := &p.nodes[0].sync.all[m.Look(p.now, m.Index([]byte("k"))).at]
				worst = max(worst, float64(st.rate))
			})
			if worst > 115 {
				t.Errorf("a window of %v, %v ahead: a rate of %.0f, where 100 are asked for",
					window, ahead, worst)
			}
		}
	}
}

// TestTheOthersCountsAfterAStepForward: a node whose wall clock was behind, and is right again,
// places the others' cost of meanwhile no later than it was: it read other counters then.
func TestTheOthersCountsAfterAStepForward(t *testing.T) {
	edgetest.Alone(t)
	const each = 7 // a node's requests in 10 ms
	for _, window := range []time.Duration{time.Second, 10 * time.Second} {
		all := 2 * each * int64(window/(10*time.Millisecond))
		for _, back := range []time.Duration{3 * window, time.Hour} {
			p := newPop(2, Limit{Name: "r", Limit: 2 * all, Window: window})
			p.lapses()
			wrong, right := int(window/(10*time.Millisecond))*2, int(window/(10*time.Millisecond))*4
			for n := range 2*right + 1 {
				p.now = start.Add(time.Duration(n) * 10 * time.Millisecond)
				for range each {
					p.ask(0, "r", "k")
					p.ask(1, "r", "k")
				}
				if n%10 == 4 {
					p.flush(1)
				}
				if n%10 != 9 {
					continue
				}
				wall := time.Duration(0)
				if n >= wrong && n < right {
					wall = -back
				}
				p.flushAt(p.now, wall)
				// a hundredth for how finely times are told
				if got := p.known(0, "k"); got > all+all/100+2*each {
					t.Fatalf("a window of %v, %v behind: at %v %d are known in the window, of %d",
						window, back, p.now.Sub(start), got, all)
				}
			}
			if got := p.known(0, "k"); got < all*9/10 {
				t.Errorf("a window of %v, %v behind: in the end %d are known in the window, of %d",
					window, back, got, all)
			}
		}
	}
}
