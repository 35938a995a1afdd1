package config

import (
	"fmt"
	"slices"

	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/mitigation"
)

// longUnits are the values of rls.long_units.
var longUnits = []string{"fault", "day"}

// LoadRLS reads the files of rls.files, all or none, and sets c.RLS.Rules to the rules that they make.
// Without files the tree is nil. The error is a Faults where the content is at fault.
func LoadRLS(c *Config) (*rls.Tree, error) {
	c.RLS.Rules = nil
	if len(c.RLS.Files) == 0 {
		return nil, nil
	}
	files, err := envoy.Read(c.RLS.Files, MaxRLSFiles, func(name string) ([]byte, error) { return readFile(name, MaxBytes) })
	if err != nil {
		return nil, fmt.Errorf("config: rls.files: %w", err)
	}
	o := envoy.Options{LongUnits: c.RLS.LongUnits}
	if len(c.Ring.Servers) > 0 {
		o.Scope = mitigation.PoP
	}
	tree, faults := envoy.Load(files, o)
	if len(faults) > 0 {
		var all Faults
		for _, f := range faults {
			all = append(all, Fault{File: f.File, Line: f.Line, Col: f.Col, Message: f.Message})
		}
		return nil, all
	}
	rules := c.AllRules()
	if n := len(rules) + len(tree.Rules); n > mitigation.MaxRules {
		return nil, fmt.Errorf("config: rls.files: all rules together are at most %d, these make %d", mitigation.MaxRules, n)
	}
	for _, r := range tree.Rules {
		if slices.ContainsFunc(rules, func(o mitigation.Rule) bool { return o.Name == r.Name }) {
			return nil, fmt.Errorf("config: rls.files: a rule is called %s already", r.Name)
		}
	}
	c.RLS.Rules = tree.Rules
	return tree, nil
}
