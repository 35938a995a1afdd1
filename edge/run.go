package edge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// sweepEvery is how often Run does what time asks for.
const sweepEvery = 100 * time.Millisecond

// flagSweepEvery is how often expired flags are cleared out; until then they are merely ignored.
const flagSweepEvery = time.Second

// Run does the node's background work until ctx ends: it rolls and sweeps the counters, clears out
// expired flags and watches the wall clock. Decisions are right without it for minutes.
func (e *Edge) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case t := <-tick.C:
			e.Turn(turn, e.clock.At(t), t)
		}
	}
}

// Turn is Run's n-th step, at now, which the wall clock calls wall; for those who drive time themselves.
func (e *Edge) Turn(n int, now window.Instant, wall time.Time) {
	e.Sweep(now)
	e.steps.watch(now, wall)
	e.judgeReach(now)
	e.observe(now)
	if n%int(flagSweepEvery/sweepEvery) == 0 {
		e.flags.Sweep(now, func(*mitigation.Flag) bool { return true })
		e.words.Sweep(e.Wall(now).UnixMilli())
	}
	e.turns.Add(1)
}

// Sweep is one step of the counters' background work, for those who drive time themselves.
func (e *Edge) Sweep(now window.Instant) { e.counter.Sweep(now) }

// stepAbove is the difference from which the wall clock has stepped, rather than been slewed.
const stepAbove = 500 * time.Millisecond

// clockSteps notices when the wall clock jumps. Counting runs on monotonic time and never sees it; only
// the times shown to people move along.
type clockSteps struct {
	offset atomic.Int64 // wall - instant, nanoseconds
	seen   atomic.Uint64
}

func (c *clockSteps) watch(now window.Instant, wall time.Time) {
	offset := wall.UnixNano() - int64(now)
	if was := c.offset.Swap(offset); time.Duration(offset-was).Abs() > stepAbove {
		c.seen.Add(1)
	}
}

// Wall returns the wall-clock time of an instant, as the wall clock goes now.
func (e *Edge) Wall(i window.Instant) time.Time {
	return time.Unix(0, int64(i)+e.steps.offset.Load()).UTC()
}

// reloads remembers how the last reload went.
type reloads struct {
	mu  sync.Mutex
	at  time.Time // of the last that went well
	err error
}

func (r *reloads) note(at time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err = err; err == nil {
		r.at = at
	}
}

// last returns when a reload last went well, and what was wrong with the last one.
func (r *reloads) last() (good time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at, r.err
}

// Reload reads the configuration again with read and puts its rules in force in one step. When read
// fails nothing changes; the failure is remembered for the metrics and returned. What belongs to the
// start (listeners, memory) does not change.
func (e *Edge) Reload(at time.Time, read func() (config.Config, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	cfg, err := read()
	if err == nil {
		e.setRules(cfg.Rules)
	}
	e.reloads.note(at, err)
	return err
}

// SetMode puts the rule called name, or every rule when name is empty, into mode until the next reload;
// it reports whether there is such a rule.
func (e *Edge) SetMode(name string, mode mitigation.Mode) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	var rules []mitigation.Rule
	found := name == ""
	for _, r := range e.rules.Load().list {
		if name == "" || name == r.Name {
			r := r.Rule
			r.Mode, found = mode, true
			rules = append(rules, r)
			continue
		}
		rules = append(rules, r.Rule)
	}
	if found {
		e.setRules(rules)
	}
	return found
}
