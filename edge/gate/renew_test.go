package gate_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestBlockUntilQuiet: each request that a renewed block denies moves its end to a step from now;
// the key is let in once it has been quiet for a step. A look moves nothing, and a block by hand
// ends as it was set. The times of a ladder are renewed step by step.
func TestBlockUntilQuiet(t *testing.T) {
	t.Parallel()
	renewed := mitigation.Rule{
		Name: "r", Limit: 10, Window: 3 * time.Second, Action: mitigation.Block,
		BlockFor: 5 * time.Second, Renews: true,
	}
	plain, ladder := renewed, renewed
	plain.Renews = false
	ladder.Ladder = mitigation.Ladder{
		Steps: []time.Duration{5 * time.Second, 20 * time.Second}, Forget: time.Hour,
	}
	for _, way := range []string{"alone", "together"} {
		decide := func(g *gate.Gate, now window.Instant, op gate.Op) gate.Decision {
			if way == "alone" {
				return ask(g, now, op, "r", "k", 1)
			}
			is := all(t, g, now, question(op, "r", "k"), question(gate.Peek, "r", "other"))
			return is.Decisions[0]
		}
		for _, tt := range []struct {
			name  string
			rule  mitigation.Rule
			steps []time.Duration
		}{
			{"renewed", renewed, []time.Duration{5 * time.Second}},
			{"a ladder", ladder, []time.Duration{5 * time.Second, 20 * time.Second}},
		} {
			g := gatetest.New(t, 1<<20, tt.rule)
			now := g.Now()
			for _, step := range tt.steps {
				for range 14 {
					decide(g, now, gate.Check)
				}
				for range 24 { // 12 s, far beyond the block's first end
					now = now.Add(500 * time.Millisecond)
					d := decide(g, now, gate.Check)
					if !d.Deny || d.Why != mitigation.ByBlock || d.Retry < step-step/200 ||
						d.Retry > step+step/2 {
						t.Fatalf("%s, %s: %+v, want a block with a retry of %v", way, tt.name, d,
							step)
					}
				}
				late := now.Add(step - step/50)
				if d := decide(g, late, gate.Peek); !d.Deny {
					t.Errorf("%s, %s: a look before the end: %+v", way, tt.name, d)
				}
				if now = now.Add(step); decide(g, now, gate.Check).Deny {
					t.Errorf("%s, %s: denied after %v of quiet", way, tt.name, step)
				}
			}
		}
		g := gatetest.New(t, 1<<20, renewed)
		now := g.Now()
		if _, err := g.Override(now, gate.ByHand{
			Rule: "r", Key: []byte("k"), Action: mitigation.Block, TTL: 10 * time.Second, Who: "t",
		}); err != nil {
			t.Fatal(err)
		}
		for range 19 {
			now = now.Add(500 * time.Millisecond)
			decide(g, now, gate.Check)
		}
		if d := decide(g, now.Add(time.Second), gate.Check); d.Deny {
			t.Errorf("%s: a block by hand was renewed: %+v", way, d)
		}
		g = gatetest.New(t, 1<<20, plain)
		now = g.Now()
		for range 14 {
			decide(g, now, gate.Check)
		}
		decide(g, now.Add(4*time.Second), gate.Check)
		if d := decide(g, now.Add(6*time.Second), gate.Check); d.Deny {
			t.Errorf("%s: a plain block was renewed: %+v", way, d)
		}
	}
}
