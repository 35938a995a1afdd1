package gate

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/observer"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestPastBounds: the bounds hold under rules of all kinds, with keys below and above their limits,
// costs, odd windows, a flag, what is taken back, changed limits, and a machine that stands still.
func TestPastBounds(t *testing.T) {
	edgetest.Alone(t)
	window := func(limit int64, w time.Duration) mitigation.Rule {
		return mitigation.Rule{Name: "r", Limit: limit, Window: w}
	}
	with := func(r mitigation.Rule, change func(*mitigation.Rule)) mitigation.Rule {
		change(&r)
		return r
	}
	numbered := with(window(60, 10*time.Second), func(r *mitigation.Rule) {
		r.Numbers = &mitigation.Numbers{
			List: []mitigation.Number{{Limit: 5}, {Limit: 20}, {Limit: 640}},
			Find: func(key []byte) int { return int(key[len(key)-1]-'0')%4 - 1 },
		}
	})
	anyway := func(*pastGate, int) {}
	others := func(keys, times int) func(*pastGate, int) {
		return func(g *pastGate, second int) {
			for n := range keys * times {
				g.ask("r", fmt.Sprint("other-", second*keys+n%keys), 1)
			}
		}
	}
	small := int64(1 << 20)
	tests := map[string]struct {
		rule     mitigation.Rule
		memory   int64
		each     func(g *pastGate, second int) // beside the traffic
		complete func(observer.Step) bool      // nil: either
	}{
		"a second":    {window(3, time.Second), 3 * small, anyway, always},
		"ten seconds": {window(20, 10*time.Second), 3 * small, anyway, always},
		"odd":         {window(20, 7*time.Second), 3 * small, anyway, always},
		"five minutes": {
			window(200, 5*time.Minute), 3 * small, anyway, always,
		},
		"an hour, in quarters": {
			window(900, time.Hour),
			3 * small,
			anyway,
			func(s observer.Step) bool {
				return s.Each > time.Minute
			},
		},
		"marks": {window(5000, 10*time.Second), 3 * small, anyway, always},
		"blocks": {with(window(20, 10*time.Second), func(r *mitigation.Rule) {
			r.Action, r.BlockFor = mitigation.Block, 40*time.Second
		}), 3 * small, anyway, always},
		"offered": {with(window(20, 10*time.Second), func(r *mitigation.Rule) {
			r.Counts = mitigation.CountOffered
		}), 3 * small, anyway, never},
		"shadow": {with(window(20, 10*time.Second), func(r *mitigation.Rule) {
			r.Mode = mitigation.Shadow
		}), 3 * small, anyway, always},
		"bucket": {with(window(20, 10*time.Second), func(r *mitigation.Rule) {
			r.Kind, r.Burst = mitigation.Bucket, 40
		}), 3 * small, anyway, never},
		"no room":               {window(20, 10*time.Second), small / 2, others(1000, 1), nil},
		"little room":           {window(192, 10*time.Second), 2 * small, others(160, 1), always},
		"little room for marks": {window(5000, 10*time.Second), 2 * small, others(160, 1), nil},
		"many refused":          {window(3, 10*time.Second), small, others(30, 6), nil},
		"above the limit": {window(20, 10*time.Second), 3 * small, func(g *pastGate, _ int) {
			g.ask("r", "key-299", 500)
		}, nil},

		"out of shadow": {with(window(20, 10*time.Second), func(r *mitigation.Rule) {
			r.Mode = mitigation.Shadow
		}), 3 * small, func(g *pastGate, second int) {
			if second == 390 {
				g.SetRules([]mitigation.Rule{window(20, 10*time.Second)})
			}
		}, nil},
		"a changed limit": {window(20, 10*time.Second), 3 * small, func(g *pastGate, second int) {
			if second%37 == 0 {
				g.SetRules([]mitigation.Rule{window(int64(10+second), 10*time.Second)})
			}
		}, nil},
		"a reload": {window(20, 10*time.Second), 3 * small, func(g *pastGate, second int) {
			if second%37 == 0 {
				g.SetRules([]mitigation.Rule{window(20, 10*time.Second)})
			}
		}, always},
		"more than a cell holds": {window(1e9, time.Minute), 3 * small, func(g *pastGate, _ int) {
			for range 90 {
				g.ask("r", "key-0", 1e6)
			}
		}, nil},
		"numbers":                 {numbered, 3 * small, anyway, always},
		"numbers in little room":  {numbered, 2 * small, others(160, 1), always},
		"numbers out of all room": {numbered, small / 2, others(1000, 1), nil},
		"taken back": {window(20, 10*time.Second), 3 * small, func(g *pastGate, _ int) {
			b := g.Lane(0).Batch(g.at, g.chance.Uint64)
			_ = b.Settle(&Ask{Rule: []byte("r"), Key: []byte("key-1"), Cost: 3}, true)
		}, func(s observer.Step) bool { return s.Each == time.Minute && s.From >= 1772633220e9 }},
		"an operator's allow": {window(20, 10*time.Second), 3 * small, func(g *pastGate, s int) {
			if s == 30 {
				g.flags.Put(g.at, mitigation.Flag{
					Index: g.rules.Load().byName["r"].meter.Index([]byte("key-0")), Rule: "r",
					Key: []byte("key-0"), Action: mitigation.Allow, Source: mitigation.Manual,
					Until: g.at.Add(time.Hour),
				})
			}
		}, nil},
		"a machine that stands still": {
			window(20, 10*time.Second), 3 * small,
			func(g *pastGate, second int) {
				if second%100 == 50 {
					g.at = g.at.Add(20 * time.Second)
				}
			}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newPastGate(t, test.memory, 1<<20, test.rule)
			for second := range 400 {
				for range edgetest.Rounds(15, 40) {
					n := int(300 * math.Pow(g.chance.Float64(), 4))
					g.ask("r", fmt.Sprint("key-", n), uint32(1+n%3))
					g.pass(time.Duration(g.chance.IntN(20)) * time.Millisecond)
				}
				test.each(g, second)
				g.pass(time.Second - time.Duration(g.at%1e9))
			}
			for _, later := range []time.Duration{0, 5 * time.Minute, 70 * time.Minute} {
				if later > 0 {
					g.every = max(sweepEvery, min(time.Second, test.rule.Window/10))
				}
				g.pass(later)
				for n := 0; n < 300 && !t.Failed(); n += edgetest.Rounds(2, 1) {
					g.check("r", fmt.Sprint("key-", n), test.complete)
				}
				for n := 0; n < 400*160 && !t.Failed() && later == 0; n += edgetest.Rounds(15, 3) {
					g.check("r", fmt.Sprint("other-", n), test.complete)
				}
			}
		})
	}
}
