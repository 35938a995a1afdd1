package pop_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// A node where a key is only peeked at, as by a policy that counts when the response is known,
// answers by the PoP's counts from the second peek on, for as long as somebody peeks and after a
// silence too. Until the counts are read its view is its own.
func TestAPeekKnowsWhatOtherNodesCounted(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{5, 100, 900, 5000} {
		r := poptest.Rule(limit, 20*time.Second)
		p := newTogether(t, 3, ringtest.NewMemory(1), r)
		p.After(3 * time.Second)
		if d := p.ask(t, 1, gate.Peek, 1); d.View != mitigation.Node || d.Remaining != limit {
			t.Errorf("the first peek: %+v", d)
		}
		part, counted := limit/5, int64(0)
		for range 4 { // an even pace
			p.ask(t, 0, gate.Count, part)
			counted += part
			p.After(time.Second)
			near(t, limit, counted, p.ask(t, 1, gate.Peek, 1))
			p.ask(t, 2, gate.Peek, 1)
			p.After(500 * time.Millisecond)
			near(t, limit, counted, p.ask(t, 2, gate.Peek, 1))
		}
		p.ask(t, 0, gate.Count, limit-counted)
		p.After(time.Second)
		for n := range p.Nodes {
			if d := p.ask(t, n, gate.Peek, 1); !d.Deny || d.View != mitigation.PoP {
				t.Errorf("limit %d, node %d: %+v", limit, n, d)
			}
		}
		p.After(45 * time.Second)
		if d := p.ask(t, 1, gate.Peek, 1); d.View != mitigation.Node || d.Deny {
			t.Errorf("after a silence: %+v", d)
		}
		p.After(100 * time.Millisecond)
		near(t, limit, 0, p.ask(t, 1, gate.Peek, 1))
	}
}

// near reports a peek that differs from what the PoP has left: by 1 % above 1,000.
func near(t *testing.T, limit, counted int64, d gate.Decision) {
	t.Helper()
	off := float64(d.Remaining - (limit - counted))
	if d.View != mitigation.PoP || math.Abs(off) > float64(max(limit-1000, 0))/100 {
		t.Errorf("%d of %d are counted: %+v", counted, limit, d)
	}
}

// A flood of peeks at made-up keys takes no more slots and reads than its share, is counted, and
// leaves no key that is counted without its slot.
func TestAFloodOfPeeksIsBounded(t *testing.T) {
	t.Parallel()
	p := newTogether(t, 2, ringtest.NewMemory(1), poptest.Rule(5, 10*time.Second))
	g := p.Nodes[0].Gate
	gatetest.Decide(g, p.Now, gate.Peek, "r", "before it joins", 1)
	p.After(3 * time.Second)
	was, slots := p.Nodes[0].Flusher.Stats(p.Now).Early, g.Stats(p.Now).Slots
	for n := range 200_000 {
		gatetest.Decide(g, p.Now, gate.Peek, "r", fmt.Sprint("flood ", n), 1)
		if n%50 == 0 {
			p.After(time.Millisecond) // 50,000 a second
		}
	}
	is := g.Stats(p.Now)
	early := p.Nodes[0].Flusher.Stats(p.Now).Early - was
	if early > 9000 || is.Suspects != slots/16 || is.ReadsDropped < 100_000 {
		t.Errorf("%d early, %+v", early, is)
	}
	p.After(25 * time.Second)
	if is := g.Stats(p.Now); is.Suspects != 0 {
		t.Errorf("%d slots are kept after two windows", is.Suspects)
	}
}
