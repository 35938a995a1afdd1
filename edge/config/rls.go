package config

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/rls"
	"github.com/headgate-dev/headgate/mitigation"
)

// headerStyles are the values of rls.headers.
var headerStyles = []string{"draft-10", "ratelimit", "x-ratelimit", "none"}

// faultOf returns f as a fault of a configuration.
func faultOf(f envoy.Fault) Fault {
	return Fault{File: f.File, Line: f.Line, Col: f.Col, Message: f.Message}
}

// maxUnitWarnings is how many limits counted by the day are named singly.
const maxUnitWarnings = 20

func readRLS(name string) ([]byte, error) { return readFile(name, MaxRLSBytes) }

// LoadRLS reads the files of rls.files, all or none, and sets c.RLS.Rules to the resulting rules.
// Without files the tree is nil. The error is a Faults where the content is at fault.
func LoadRLS(c *Config) (*rls.Tree, error) {
	c.RLS.Rules = nil
	if len(c.RLS.Files) == 0 {
		return nil, nil
	}
	files, err := envoy.Read(c.RLS.Files, MaxRLSFiles, readRLS)
	if err != nil {
		return nil, fmt.Errorf("config: rls.files: %w", err)
	}
	o := envoy.Options{LongUnits: c.RLS.LongUnits, Taken: map[string]bool{}}
	units := 0
	o.Warn = func(f envoy.Fault) {
		if units++; units <= maxUnitWarnings {
			w := faultOf(f)
			w.Code = "rls-days"
			c.Warnings = append(c.Warnings, w)
		}
	}
	for _, r := range c.AllRules() {
		o.Taken[r.Name] = true
	}
	if len(c.Ring.Servers) > 0 {
		o.Scope = mitigation.PoP
	}
	tree, faults := envoy.Load(files, o)
	if len(faults) > 0 {
		var all Faults
		for _, f := range faults {
			all = append(all, faultOf(f))
		}
		return nil, all
	}
	if more := units - maxUnitWarnings; more > 0 {
		last := c.Warnings[len(c.Warnings)-1]
		last.Message = fmt.Sprintf("and %d more limits are counted by the day", more)
		c.Warnings = append(c.Warnings, last)
	}
	c.RLS.Rules = tree.Rules
	return tree, nil
}
