package edge

import (
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

// switches are the modes set by hand, until the next reload. Never changed in place.
type switches struct {
	all                    mitigation.Mode // Enforce: as the file says
	rules, policies, pools modes
}

// modes are modes by name.
type modes map[string]mitigation.Mode

// with returns m and the mode of a name.
func (m modes) with(name string, mode mitigation.Mode) modes {
	next := modes{name: mode}
	for other, is := range m {
		if other != name {
			next[other] = is
		}
	}
	return next
}

// Switch puts a rule, a policy or a pool, as kind says, into mode until the next reload; with an
// empty name everything, and Enforce then takes all switches back. A policy's own rule takes the
// policy along, and the other way round.
func (n *Node) Switch(kind, name string, mode mitigation.Mode) *api.Problem {
	n.reloads.mu.Lock()
	defer n.reloads.mu.Unlock()
	s, problem := n.reloads.switches.and(n, kind, name, mode)
	if problem != nil {
		return problem
	}
	if err := n.put(s); err != nil { // nothing is read, and the policies have been loaded before
		return api.BadParameter("mode", err.Error())
	}
	return nil
}

// put puts the file's configuration in force in the modes of s. Called with the lock of reloads.
func (n *Node) put(s switches) error {
	p, err := n.switched(&s)
	if err != nil {
		return err
	}
	n.reloads.switches = s
	n.setRules(p, n.gate.Replace)
	for name, mode := range s.rules { // also of rules that descriptors brought
		n.gate.SetMode(name, mode)
	}
	n.room.SetPoolModes(s.all, s.pools)
	if s.all != mitigation.Enforce {
		n.gate.SetMode("", s.all)
		n.room.Kill(true)
	}
	return nil
}

// and returns s with another switch.
func (s switches) and(n *Node, kind, name string, mode mitigation.Mode) (switches, *api.Problem) {
	cfg := &n.reloads.file.cfg
	switch {
	case name == "":
		if s.all = mode; mode == mitigation.Enforce {
			s = switches{}
		}
	case kind == "pool":
		if !slices.ContainsFunc(cfg.Pools, func(c pool.Config) bool { return c.Name == name }) {
			return s, api.NotThere(kind, name)
		}
		s.pools = s.pools.with(name, mode)
	case kind == "policy":
		if slices.ContainsFunc(n.surges.applied,
			func(a applied) bool { return a.name() == name }) {
			return s, api.BadParameter("policy", name+" is of a surge: use headgate surge apply")
		}
		p, problem := switchable(cfg, name)
		if problem != nil {
			return s, problem
		}
		s.policies = s.policies.with(name, mode)
		for i := range p.Own {
			s.rules = s.rules.with(p.Own[i].Name, mode)
		}
	default:
		if n.gate.Rule([]byte(name)) == nil {
			return s, api.UnknownRule("rule", []byte(name), n.gate.RuleNames())
		}
		s.rules = s.rules.with(name, mode)
		s = s.withOwner(cfg, name)
	}
	return s, nil
}

// withOwner returns s with the mode of the policy whose own rule has that name: the most of its own
// rules' modes.
func (s switches) withOwner(cfg *config.Config, rule string) switches {
	for i := range cfg.Policies.Policies {
		p := &cfg.Policies.Policies[i]
		if !slices.ContainsFunc(p.Own, func(r mitigation.Rule) bool { return r.Name == rule }) {
			continue
		}
		most := mitigation.Off
		for j := range p.Own {
			mode, switched := s.rules[p.Own[j].Name]
			if !switched {
				mode = p.Own[j].Mode
			}
			most = min(most, mode)
		}
		s.policies = s.policies.with(p.Name, most)
	}
	return s
}

// switchable returns the policy called name, or why it cannot have a mode of its own.
func switchable(cfg *config.Config, name string) (*policy.Policy, *api.Problem) {
	all := cfg.Policies.Policies
	at := slices.IndexFunc(all, func(p policy.Policy) bool { return p.Name == name })
	if at < 0 {
		return nil, api.NotThere("policy", name)
	}
	for _, rule := range all[at].Rules {
		var others []string
		for i := range all {
			if i != at && slices.Contains(all[i].Rules, rule) {
				others = append(others, all[i].Name)
			}
		}
		if len(others) > 0 {
			return nil, api.BadParameter("policy", name+" asks rule "+rule+", which "+
				strings.Join(others, ", ")+" asks too: switch the rule")
		}
	}
	return &all[at], nil
}

// switched returns the file's configuration in the modes of s. The files of sets are not read: a
// switch works without a disk.
func (n *Node) switched(s *switches) (p prepared, err error) {
	p = n.reloads.file
	set := func(mode *mitigation.Mode, by modes, name string) {
		if is, switched := by[name]; switched {
			*mode = is
		}
		if s.all != mitigation.Enforce {
			*mode = s.all
		}
	}
	for _, rules := range []*[]mitigation.Rule{&p.cfg.Rules, &p.cfg.RLS.Rules} {
		*rules = slices.Clone(*rules)
		for i := range *rules {
			set(&(*rules)[i].Mode, s.rules, (*rules)[i].Name)
		}
	}
	all := n.surges.join(slices.Clone(p.cfg.Policies.Policies))
	for i := range all {
		set(&all[i].Mode, s.policies, all[i].Name)
		all[i].Own = slices.Clone(all[i].Own)
		for j := range all[i].Own {
			set(&all[i].Own[j].Mode, s.rules, all[i].Own[j].Name)
		}
	}
	if p.policies == nil { // nothing of the sets was read
		p.cfg.Policies.Sets = nil
	}
	if p.cfg.Policies.Policies = all; p.policies != nil || len(all) > 0 {
		p.policies, err = config.SwitchPolicies(&p.cfg,
			policy.Options{Key: p.digestKey(n.secret), Before: p.policies, Now: wall()})
	}
	return p, err
}
