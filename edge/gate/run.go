package gate

import (
	"context"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// sweepEvery is the interval between two turns of Run.
const sweepEvery = 100 * time.Millisecond

// flagSweepEvery is the interval at which expired flags and overrides are cleared out. Until then
// ended flags are merely ignored.
const flagSweepEvery = time.Second

// Run does the background work of the gate until ctx ends: sweeps the counters, clears out expired
// flags, judges the ring and watches the wall clock. Decisions stay right for minutes without Run.
func (g *Gate) Run(ctx context.Context) {
	turn := 0
	Every(ctx, sweepEvery, func(wall time.Time) {
		turn++
		g.Turn(turn, g.clock.At(wall), wall)
	})
}

// Every calls do once in each interval until ctx ends, in the caller's goroutine.
func Every(ctx context.Context, interval time.Duration, do func(now time.Time)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			do(now)
		}
	}
}

// Turn is the n-th step of Run, at now, for callers that drive time themselves. wall is the reading
// of the wall clock at now. It is for a single goroutine.
func (g *Gate) Turn(n int, now window.Instant, wall time.Time) {
	g.Sweep(now)
	g.steps.Watch(now, wall)
	g.judgeRing(now)
	g.observer.Observe(now, &g.rules.Load().observed, g.counter)
	g.sweepLeases(now)
	if g.limitsDue.Load() {
		g.mu.Lock()
		g.applyLimits()
		g.mu.Unlock()
	}
	if n%int(flagSweepEvery/sweepEvery) == 0 {
		g.flags.Sweep(now, func(*mitigation.Flag) bool { return true })
		g.overrides.Sweep(g.Wall(now).UnixMilli())
		g.limits.Sweep(g.Wall(now).UnixMilli())
		g.policies.Sweep(g.Wall(now).UnixMilli())
		if g.networks.Ended(now) {
			g.mu.Lock()
			g.networks.Update(now, g.flags)
			g.mu.Unlock()
		}
	}
	g.turns.Add(1)
}

// Turns returns the number of turns made.
func (g *Gate) Turns() uint64 { return g.turns.Load() }

// Sweep is a step of the background work of the counters, for callers with a virtual clock. Returns
// the cost of the step, in cells and slots visited.
func (g *Gate) Sweep(now window.Instant) (steps int) { return g.counter.Sweep(now) }

// ClockStep is the difference above which a change of the wall clock is a step rather than a slew.
const ClockStep = health.ClockStep

// Wall returns the wall-clock time of i in UTC, as the wall clock ran at the last Turn.
func (g *Gate) Wall(i window.Instant) time.Time {
	return time.Unix(0, int64(i)+g.steps.Offset()).UTC()
}

// Reload puts rules in force at once and records the success. at is the wall-clock time at which
// the configuration was read, known as valid. Reload cannot fail, and waits only for other changes
// of rules or overrides. Listeners and memory are fixed at the start.
func (g *Gate) Reload(at time.Time, rules []mitigation.Rule) {
	g.Replace(rules)
	g.reloads.Note(at, nil)
}

// Replace is Reload of rules that no configuration was read for.
func (g *Gate) Replace(rules []mitigation.Rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.killed = mitigation.Enforce
	g.SetRules(rules)
}

// RefuseReload records, for LastReload, a refusal of a configuration because of err. The rules
// stay.
func (g *Gate) RefuseReload(err error) { g.reloads.Note(time.Time{}, err) }

// SetMode puts the rule called name, or every rule if name is empty, into mode until the next
// reload. Reports whether there is such a rule.
func (g *Gate) SetMode(name string, mode mitigation.Mode) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	var rules []mitigation.Rule
	found := name == ""
	if found {
		g.killed = mode
	}
	for _, r := range g.rules.Load().list {
		if rules = append(rules, r.Rule); name == "" || name == r.Name {
			rules[len(rules)-1].Mode, found = mode, true
		}
	}
	if found {
		g.SetRules(rules)
	}
	return found
}
