package config

import (
	"fmt"
	"slices"

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
func LoadRLS(c *Config) (tree *rls.Tree, err error) {
	c.RLS.Rules, c.RLS.Texts = nil, nil
	if len(c.RLS.Files) == 0 {
		return nil, nil
	}
	if c.RLS.Texts, err = envoy.Read(c.RLS.Files, MaxRLSFiles, readRLS); err != nil {
		return nil, fmt.Errorf("config: rls.files: %w", err)
	}
	units := 0
	tree, err = c.joinRLS(nil, func(f envoy.Fault) {
		if units++; units <= maxUnitWarnings {
			w := faultOf(f)
			w.Code = "long-unit"
			c.Warnings = append(c.Warnings, w)
		}
	})
	if err != nil {
		return nil, err
	}
	if more := units - maxUnitWarnings; more > 0 {
		last := c.Warnings[len(c.Warnings)-1]
		last.Message = fmt.Sprintf("and %d more limits are counted by the day", more)
		c.Warnings = append(c.Warnings, last)
	}
	return tree, nil
}

// JoinRLS returns the tree of the files, as LoadRLS read them last, and of resources, which a
// management server sent: RateLimitConfig of ratelimit.config.ratelimit.v3. It sets c.RLS.Rules.
// The error is a Faults where the content is at fault. It reads no file.
func JoinRLS(c *Config, resources [][]byte) (*rls.Tree, error) {
	return c.joinRLS(resources, nil)
}

func (c *Config) joinRLS(resources [][]byte, warn func(envoy.Fault)) (*rls.Tree, error) {
	files := slices.Clone(c.RLS.Texts)
	for _, data := range resources {
		files = append(files, envoy.File{Data: data, Proto: true})
	}
	c.RLS.Rules = nil
	o := envoy.Options{LongUnits: c.RLS.LongUnits, Taken: map[string]bool{}, Warn: warn}
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
	c.RLS.Rules = tree.Rules
	return tree, nil
}

// RLSFiles returns the names of the files that LoadRLS read.
func (c *Config) RLSFiles() (names []string) {
	for i := range c.RLS.Texts {
		names = append(names, c.RLS.Texts[i].Name)
	}
	return names
}
