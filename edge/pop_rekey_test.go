package edge

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// Nodes whose secret is changed one after the other count together again once all have it, and nobody is refused for it.
func TestRekeyedNodesCountTogether(t *testing.T) {
	tally := newMemory(2)
	p := newTogether(t, 2, tally, popRule(5, time.Minute))
	p.after(5 * time.Second)
	for n := range 4 {
		if a := p.check(n%2, "r", "old"); a.Status != wire.Allow {
			t.Fatalf("request %d: %+v", n, a)
		}
		p.after(time.Second)
	}
	p.pops[0].Rekey([]byte("new"))
	p.after(3 * time.Second)
	if admitted := p.turns("apart"); admitted != 10 {
		t.Errorf("%d admitted while only one has the new secret, want 5 each", admitted)
	}
	p.pops[1].Rekey([]byte("new"))
	p.after(10 * time.Second)
	if a := p.check(0, "r", "old"); a.Status != wire.Allow || a.View != wire.ViewPoP {
		t.Errorf("the fifth after the change: %+v", a)
	}
	if admitted := p.turns("fresh"); admitted != 5 {
		t.Errorf("%d admitted after the change, want 5", admitted)
	}
	for n, pop := range p.pops {
		if s := pop.Stats(p.now); s.Nodes != 2 || s.Clock != ClockAgreed || s.Implausible != 0 {
			t.Errorf("node %d: %+v", n, s)
		}
	}
}

// turns asks for key twenty times, a second apart and by turns, and returns how often it passed.
func (p *together) turns(key string) (admitted int) {
	for n := range 20 {
		if p.check(n%2, "r", key).Status == wire.Allow {
			admitted++
		}
		p.after(time.Second)
	}
	return admitted
}
