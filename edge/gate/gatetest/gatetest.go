// Package gatetest makes gates, and asks them, for tests of the packages around the gate.
package gatetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Rules of every kind, each with a limit of 3.
var (
	Shed  = mitigation.Rule{Name: "shed", Limit: 3, Window: 10 * time.Second}
	Block = mitigation.Rule{
		Name: "block", Limit: 3, Window: 10 * time.Second,
		Action: mitigation.Block, BlockFor: time.Minute,
	}
	Shadow = mitigation.Rule{
		Name: "shadow", Limit: 3, Window: 10 * time.Second,
		Mode: mitigation.Shadow,
	}
	Off = mitigation.Rule{Name: "off", Limit: 3, Window: 10 * time.Second, Mode: mitigation.Off}
)

// HostileKey is a key that does harm wherever it is shown without escaping.
const HostileKey = "\x1b[2J<script>alert('1')</script>\r\n\xff\x00\\"

// New returns a gate called "test" with rules in memory bytes, without other nodes. It keeps the
// past of keys, in as much more as a node does.
func New(t testing.TB, memory int64, rules ...mitigation.Rule) *gate.Gate {
	t.Helper()
	return gate.New(gate.Options{
		Node: "test", Memory: memory, Rules: rules, Past: memory >> 20 / 16 << 20,
		Flush: 100 * time.Millisecond, Start: time.Now(),
	})
}

// NewFlagged returns a gate under the rules Shed and Block that has n flags, at most 10,000, of
// keys that were refused under Block.
func NewFlagged(t testing.TB, n int) *gate.Gate {
	t.Helper()
	g := New(t, 64<<20, Shed, Block)
	for key := 0; g.FlagStats().Flags < int64(n); key++ {
		Refuse(g, Block.Name, fmt.Sprintf("198.51.%d.%d", key/250, key%250))
		if key > 2*n {
			t.Fatal("the flags do not fit")
		}
	}
	return g
}

// Ask returns a question.
func Ask(op gate.Op, rule, key string, cost uint32) gate.Ask {
	return gate.Ask{Op: op, Rule: []byte(rule), Key: []byte(key), Cost: cost}
}

// Decide has g decide at now, by a random number in the middle of its range. It returns the
// decision as tests compare it: durations rounded up to whole seconds, without the rule. It panics
// if no such rule is in force.
//
//nolint:revive // a question in one line
func Decide(
	g *gate.Gate, now window.Instant, op gate.Op, rule, key string, cost uint32,
) gate.Decision {
	d, err := g.Lane(0).Decide(now, 1<<63, Ask(op, rule, key, cost))
	if err != nil {
		panic(err)
	}
	d.Rule = nil
	d.Reset, d.Retry = wholeSeconds(d.Reset), wholeSeconds(d.Retry)
	return d
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1) / time.Second * time.Second
}

// Refuse has key ask for one more than the limit of rule, so that it is refused if its rule refuses
// at all.
func Refuse(g *gate.Gate, rule, key string) {
	now, limit := g.Now(), g.Rule([]byte(rule)).Limit
	for range limit + 1 {
		Decide(g, now, gate.Check, rule, key, 1)
	}
}

// Settlement returns the arguments of Batch.Settle for delta.
func Settlement(rule, key string, delta int64) (a *gate.Ask, less bool) {
	return &gate.Ask{
		Rule: []byte(rule), Key: []byte(key), Cost: uint32(max(delta, -delta)),
	}, delta < 0
}
