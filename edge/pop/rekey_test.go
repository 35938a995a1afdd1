package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// Nodes whose secret is changed one after the other count together again once all have it, and
// nobody is refused for it.
func TestRekeyedNodesCountTogether(t *testing.T) {
	tally := ringtest.NewMemory(2)
	p := newTogether(t, 2, tally, poptest.Rule(5, time.Minute))
	p.After(5 * time.Second)
	for n := range 4 {
		if a := p.Check(n%2, "r", "old"); a.Deny {
			t.Fatalf("request %d: %+v", n, a)
		}
		p.After(time.Second)
	}
	p.Nodes[0].Flusher.Rekey([]byte("new"))
	p.After(3 * time.Second)
	if admitted := p.turns("apart"); admitted != 10 {
		t.Errorf("%d admitted while only one has the new secret, want 5 each", admitted)
	}
	p.Nodes[1].Flusher.Rekey([]byte("new"))
	p.After(10 * time.Second)
	if a := p.Check(0, "r", "old"); a.Deny || a.View != mitigation.PoP {
		t.Errorf("the fifth after the change: %+v", a)
	}
	if admitted := p.turns("fresh"); admitted != 5 {
		t.Errorf("%d admitted after the change, want 5", admitted)
	}
	for n := range p.Nodes {
		if s := p.stats(n); s.Nodes != 2 || s.Clock != health.ClockAgreed || s.Implausible != 0 {
			t.Errorf("node %d: %+v", n, s)
		}
	}
}

// turns asks for key twenty times, a second apart and by turns, and returns how often it passed.
func (p *together) turns(key string) (admitted int) {
	for n := range 20 {
		if !p.Check(n%2, "r", key).Deny {
			admitted++
		}
		p.After(time.Second)
	}
	return admitted
}
