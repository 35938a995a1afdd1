package pop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

func loginRule() mitigation.Rule {
	return mitigation.Rule{
		Name: "login", Limit: 5, Window: time.Minute, Scope: mitigation.PoP,
		Action: mitigation.Block, BlockFor: 10 * time.Minute,
	}
}

// TestNobodyIsBlockedBelowTheLimit: three at node a, one there later, one at node b, and one more
// when the first three have left the window: a node that knows of them by totals only must not hold
// the three for longer.
func TestNobodyIsBlockedBelowTheLimit(t *testing.T) {
	p := newTogether(t, 2, ringtest.NewMemory(3), loginRule())
	p.After(3 * time.Second)
	const period = 12 * time.Second
	begins := window.Instant((int64(p.Now)/int64(period) + 1) * int64(period))
	for n, ask := range []struct {
		node int
		at   time.Duration
	}{
		{0, 240 * time.Millisecond},
		{0, 240 * time.Millisecond},
		{0, 240 * time.Millisecond},
		{0, 10_800 * time.Millisecond},
		{1, 11_050 * time.Millisecond},
		{1, 60_390 * time.Millisecond},
	} {
		p.Until(begins.Add(ask.at))
		if a := p.Check(ask.node, "login", "k"); a.Deny {
			t.Errorf("request %d, at %v: %+v", n, ask.at, a)
		}
	}
}

// TestWhoIsAboveTheLimitIsBlocked by every node that it asks, though no node admitted more than the
// limit by itself.
func TestWhoIsAboveTheLimitIsBlocked(t *testing.T) {
	edgetest.Alone(t)
	p := newTogether(t, 3, ringtest.NewMemory(3), loginRule())
	p.After(3 * time.Second)
	for key := range edgetest.Rounds(5, 20) {
		k := fmt.Sprint("k", key)
		for n := range 9 {
			p.After(4 * time.Second) // three times the limit
			p.Check(n%3, "login", k)
		}
		for n := range 3 {
			if a := p.Check(n, "login", k); !a.Deny || a.Why != mitigation.ByBlock ||
				a.Retry < 500*time.Second {
				t.Errorf("%s at node %d: %+v", k, n, a)
			}
		}
	}
}
