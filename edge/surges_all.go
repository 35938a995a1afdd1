package edge

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/surge"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// sharedPolicy is the policy of a finding for all members: each writes the text by itself.
type sharedPolicy struct {
	Mode       string
	Conditions []surge.Condition
}

func recordOf(a *surge.Applied) []byte {
	b, _ := json.Marshal(sharedPolicy{a.Mode, a.Conditions}) // texts: cannot fail
	return b
}

// applyToAll has the other members put a in force.
func (n *Node) applyToAll(a *applied) error {
	record := recordOf(&a.Applied)
	if len(record) > override.MaxPolicy {
		return errors.New("the conditions are too long for a message")
	}
	return n.gate.ApplyPolicy(n.gate.Now(), a.name(), record, a.Until, a.By)
}

// followPolicies puts the policies of other members in force, and ends those withdrawn.
func (n *Node) followPolicies() {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	changed := false
	for _, o := range n.gate.Policies(n.gate.Now()) {
		changed = n.follow(&o) || changed
	}
	if !changed {
		return
	}
	if err := n.put(n.reloads.switches); err != nil {
		n.log.Error("policies of other members are not in force", "error", api.Lines(err)[0])
	}
	n.surges.wake()
}

// follow puts o among the applied, or ends the policy, and reports whether either changed them.
func (n *Node) follow(o *override.Override) (changed bool) {
	s := &n.surges
	at := slices.IndexFunc(s.applied, func(a applied) bool { return a.name() == o.Rule })
	without := s.applied
	if at >= 0 {
		without = slices.Delete(slices.Clone(s.applied), at, at+1)
	}
	if !o.InForce(wall().UnixMilli()) {
		if at < 0 || !s.applied[at].All {
			return false
		}
		n.tellApplied(&s.applied[at], "undone")
		s.applied = without
		return true
	}
	a, err := n.received(o)
	switch {
	case err == nil && at >= 0 && s.applied[at].Mode == a.Mode &&
		s.applied[at].Until.Equal(a.Until):
		return false
	case err == nil && len(without) == maxApplied:
		err = errors.New("no room")
	}
	if err != nil {
		n.log.Warn("a policy of another member is not in force here", "policy", o.Rule,
			"node", o.Node, "error", api.Lines(err)[0])
		return false
	}
	if s.watch != nil {
		s.watch.Adopt(a.Finding)
	}
	s.applied = append(slices.Clone(without), a)
	n.tellApplied(&a, a.Mode)
	return true
}

// received returns the policy of o.
func (n *Node) received(o *override.Override) (applied, error) {
	var is sharedPolicy
	if err := json.Unmarshal(o.Policy, &is); err != nil {
		return applied{}, err
	}
	begun := time.UnixMilli(o.Issued).UTC()
	a, err := newApplied(&surge.Applied{
		Finding: surge.Finding{
			ID: strings.TrimPrefix(o.Rule, "surge-"), Kind: surge.Attack, Begun: begun,
			Seen: begun, Over: true, Conditions: is.Conditions,
		},
		Mode: is.Mode, Until: time.UnixMilli(o.Until).UTC(), By: o.Who, All: true,
	})
	if err == nil && a.name() != o.Rule {
		err = errors.New("no name of a finding's policy")
	}
	return a, err
}
