package edge

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/edge/surge"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

// Bounds of the policies made of findings.
const (
	maxApplied = 8
	anApplied  = 30 * time.Minute

	usualName = "headgate.usual" // in the state directory
)

// surges is the watch over surges, and the policies made of findings.
type surges struct {
	watch   *surge.Watch  // nil: surge.sample was 0 at the start
	changed chan struct{} // the policies in force, and so the time of the next end
	ignored atomic.Uint64 // files of usual traffic
	took    atomic.Int64  // of the last look, in nanoseconds

	// protected by the lock of reloads
	applied []applied
	events  []api.SurgeEvent
}

// applied is a policy of a finding in force, behind the policies of the file.
type applied struct {
	surge.Applied
	policy policy.Policy
}

// name is the name of the finding's policy.
func (a *applied) name() string { return "surge-" + a.ID }

// wall is the time by which policies end.
func wall() time.Time { return time.Now() }

// openSurge makes the watch, with the usual traffic of the state.
func (n *Node) openSurge(p *prepared) {
	s := &n.surges
	if s.changed = make(chan struct{}, 1); surgeBytes(&p.cfg) == 0 {
		return
	}
	digests := p.digestKey(n.secret)
	key := sha256.Sum256(append([]byte("headgate terms of surges\x00"), digests[:]...))
	s.watch = surge.New(key, rand.Uint64)
	n.room.Sample(&s.watch.Share, s.watch)
	defer n.setSurge(p) // behind the kept state
	if n.started.StateDir == "" {
		return
	}
	data, warnings, err := state.ReadKept(n.started.StateDir, usualName, surge.MaxKept)
	n.warn(prepared{warnings: warnings})
	var all []surge.Applied
	if err == nil {
		all, err = s.watch.Restore(data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.ignored.Add(1)
		n.log.Warn("usual traffic kept by the state is not used, and learnt again", "error",
			api.Lines(err))
	}
	for i := range all {
		if a, err := newApplied(&all[i]); err == nil && !a.policy.Over(wall()) {
			s.applied = append(s.applied, a)
		}
	}
	if len(s.applied) > 0 {
		if err := n.put(n.reloads.switches); err != nil {
			n.log.Warn("policies of surges are not in force again", "error", api.Lines(err))
			s.applied = nil
		}
	}
}

// setSurge puts the fields of p's section surge in force. Called with the lock of reloads, or
// before the node runs.
func (n *Node) setSurge(p *prepared) {
	if n.surges.watch == nil {
		return
	}
	s := surge.Settings{
		Sample: p.cfg.Surge.Sample, Learn: p.cfg.Surge.Learn, MinRate: p.cfg.Surge.MinRate,
	}
	if p.policies != nil {
		s.Hidden = p.policies.Hides
	}
	n.surges.watch.Set(s, int64(n.gate.Now()))
}

// newApplied returns a as a policy.
func newApplied(a *surge.Applied) (applied, error) {
	if len(a.Conditions) == 0 || len(a.Conditions) > 3 ||
		a.Mode != "shadow" && a.Mode != "enforce" ||
		slices.ContainsFunc(a.Conditions, func(c surge.Condition) bool { return !c.Valid() }) {
		return applied{}, errors.New("no policy of a finding")
	}
	text := "policies:\n" + surge.PolicyOf(a.ID, a.Conditions, a.Mode, a.Until)
	cfg, err := config.Parse("surge-"+a.ID, []byte(text))
	if err != nil {
		return applied{}, err
	}
	p := cfg.Policies.Policies[0]
	p.At.Line, p.At.Col = 0, 0 // in no file
	return applied{Applied: *a, policy: p}, nil
}

// join returns the policies of a file and those applied behind. A policy stays out if the file has
// its name.
func (s *surges) join(all []policy.Policy) []policy.Policy {
	for i := range s.applied {
		p := &s.applied[i].policy
		if !slices.ContainsFunc(all, func(o policy.Policy) bool { return o.Name == p.Name }) {
			all = append(all, *p)
		}
	}
	return all
}

// wake has watchSurge look at the times again at which policies end.
func (s *surges) wake() {
	select {
	case s.changed <- struct{}{}:
	default: // known already
	}
}

// watchSurge looks at traffic, and ends policies, until ctx ends.
func (n *Node) watchSurge(ctx context.Context) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	end := time.NewTimer(n.untilEnd())
	defer end.Stop()
	for seconds := 1; ; seconds++ {
		select {
		case <-ctx.Done():
			n.keepUsual()
			return
		case <-n.surges.changed:
			end.Reset(n.untilEnd())
			n.keepUsual() // with the policies in force
		case <-n.gate.PoliciesChanged():
			n.followPolicies()
		case <-end.C:
			n.endPolicies()
			end.Reset(n.untilEnd())
		case <-second.C:
			n.lookForSurge()
			if seconds%600 == 0 { // ten minutes
				n.keepUsual()
			}
		}
	}
}

// lookForSurge is for every second.
func (n *Node) lookForSurge() {
	if n.surges.watch == nil {
		return
	}
	began := n.gate.Now()
	sheds := slices.ContainsFunc(n.room.Pools(), func(v pool.View) bool { return v.Level > 0 })
	if n.surges.watch.Tick(int64(began), sheds) {
		n.surges.took.Store(int64(n.gate.Now().Sub(began)))
	}
}

// untilEnd returns the time until the next policy ends.
func (n *Node) untilEnd() time.Duration {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	now := wall()
	spec := policy.Spec{Policies: n.surges.join(slices.Clone(
		n.reloads.file.cfg.Policies.Policies))}
	if next := spec.NextEnd(now); !next.IsZero() {
		return next.Sub(now)
	}
	return override.MaxApply
}

// endPolicies puts the policies in force whose time is not over.
func (n *Node) endPolicies() {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	n.surges.applied = slices.DeleteFunc(n.surges.applied, func(a applied) bool {
		over := a.policy.Over(wall())
		if over {
			n.tellApplied(&a, "over")
		}
		return over
	})
	if err := n.put(n.reloads.switches); err != nil {
		n.log.Error("policies stay in force although their time is over", "error", api.Lines(err))
	}
}

// tellApplied has the event of a sent.
func (n *Node) tellApplied(a *applied, what string) {
	n.surges.events = append(n.surges.events, eventOf(&a.Finding, what))
}

// keepUsual writes usual traffic to the state directory.
func (n *Node) keepUsual() {
	if n.surges.watch == nil || n.started.StateDir == "" {
		return
	}
	n.reloads.mu.Lock()
	var all []surge.Applied
	for i := range n.surges.applied {
		all = append(all, n.surges.applied[i].Applied)
	}
	n.reloads.mu.Unlock()
	err := state.WriteKept(n.started.StateDir, usualName, n.surges.watch.Kept(all))
	if err != nil {
		n.log.Error("usual traffic not kept: a restart learns it again", "error", err)
	}
}
