package edge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/surge"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// ApplySurge puts the policy of a finding in force, or says why not.
func (n *Node) ApplySurge(is api.SurgeApply) (v api.SurgeAppliedView, p *api.Problem) {
	a, p := n.asked(&is)
	if p != nil {
		return v, p
	}
	next, err := newApplied(&a)
	if err != nil {
		return v, api.Conflict("id", "has no policy: "+api.Lines(err)[0])
	}
	v = api.SurgeAppliedView{Name: next.name(), Mode: a.Mode, Until: a.Until}
	v.Alone = a.All && !n.gate.Publishes()
	if a.All {
		if err := n.applyToAll(&next); err != nil {
			return v, api.Conflict("all", err.Error()+": apply the policy on each member")
		}
	}
	if p = n.apply(&next); p != nil && a.All {
		n.gate.WithdrawPolicy(n.gate.Now(), v.Name, a.By)
	}
	return v, p
}

// asked returns the finding with the policy that is asks for.
func (n *Node) asked(is *api.SurgeApply) (a surge.Applied, p *api.Problem) {
	lasts := anApplied
	if is.For != "" {
		var err error
		if lasts, err = time.ParseDuration(is.For); err != nil || lasts < time.Minute ||
			lasts > override.MaxApply {
			return a, api.BadParameter("for", "must be a duration from 1m to 24h, such as 30m")
		}
	}
	a = surge.Applied{
		Mode: cmp.Or(is.Mode, "shadow"), By: is.By, All: is.All,
		Until: wall().Add(lasts).UTC().Truncate(time.Second),
	}
	if a.Mode != "shadow" && a.Mode != "enforce" {
		return a, api.BadParameter("mode", "must be shadow or enforce")
	}
	if n.surges.watch == nil {
		return a, api.NotThere("finding", is.ID)
	}
	f := n.surges.watch.Report().Find(is.ID)
	if f == nil {
		return a, api.NotThere("finding", is.ID)
	}
	if why := f.NoPolicy(); why != "" {
		return a, api.Conflict("id", "has no policy: "+why)
	}
	a.Finding = *f
	return a, nil
}

// apply puts a in force.
func (n *Node) apply(a *applied) *api.Problem {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	s := &n.surges
	if slices.ContainsFunc(n.reloads.file.cfg.Policies.Policies,
		func(p policy.Policy) bool { return p.Name == a.name() }) {
		return api.Conflict("id", "a policy of the file has its name")
	}
	was := s.applied
	s.applied = slices.DeleteFunc(slices.Clone(was), func(o applied) bool { return o.ID == a.ID })
	if len(s.applied) == maxApplied {
		s.applied = was
		return api.Conflict("id", fmt.Sprintf(
			"%d policies of surges are in force: undo one first", maxApplied))
	}
	s.applied = append(s.applied, *a)
	if err := n.put(n.reloads.switches); err != nil {
		s.applied = was
		return api.Conflict("id", api.Lines(err)[0])
	}
	n.tellApplied(a, a.Mode)
	s.wake()
	return nil
}

// UndoSurge takes the policy of a finding away.
func (n *Node) UndoSurge(id, by string) *api.Problem {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	s := &n.surges
	at := slices.IndexFunc(s.applied, func(a applied) bool { return a.ID == id })
	if at < 0 {
		return api.NotThere("surge", id)
	}
	gone := s.applied[at]
	s.applied = slices.Delete(slices.Clone(s.applied), at, at+1)
	if err := n.put(n.reloads.switches); err != nil {
		return api.Conflict("id", api.Lines(err)[0])
	}
	if gone.All {
		n.gate.WithdrawPolicy(n.gate.Now(), gone.name(), by)
	}
	n.tellApplied(&gone, "undone")
	s.wake()
	return nil
}
