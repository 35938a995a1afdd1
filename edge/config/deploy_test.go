package config_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

const deployed = "../../deploy"

// TestDeployedFilesAreYAML reads every YAML file of deploy/ strictly: one document, no key twice.
func TestDeployedFilesAreYAML(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(deployed, "*.yaml"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("found %v: %v", paths, err)
	}
	for _, path := range paths {
		in := yaml.NewDecoder(bytes.NewReader(read(t, path)))
		var content map[string]any
		if err := in.Decode(&content); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := in.Decode(&content); !errors.Is(err, io.EOF) {
			t.Errorf("%s: something follows: %v", path, err)
		}
	}
}

// TestDeployedPoPCounts keeps deploy/headgate-pop.yaml as docs/pop.md shows it: three servers, and
// rules of a PoP, small and large.
func TestDeployedPoPCounts(t *testing.T) {
	c, err := config.Read(filepath.Join(deployed, "headgate-pop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkPoP(t, c)
	if c.Gossip.KeyFile == "" {
		t.Error("the counters' names have no secret")
	}
	if !slices.ContainsFunc(c.Rules,
		func(r mitigation.Rule) bool { return r.Limit > 1000 && r.Scope == mitigation.PoP }) {
		t.Error("no large limit")
	}
}

// TestDeployedGlobalCounts keeps deploy/headgate-global.yaml as docs/global.md shows it: gossip off
// loopback under a key, and global rules of both kinds, by rates and by counts.
func TestDeployedGlobalCounts(t *testing.T) {
	c, err := config.Read(filepath.Join(deployed, "headgate-global.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkPoP(t, c)
	if c.Gossip.Bind.IsZero() || c.Gossip.Bind.Loopback() || len(c.Gossip.Join) < 2 ||
		c.Gossip.KeyFile == "" {
		t.Errorf("%+v", c.Gossip)
	}
	for _, byRate := range []bool{true, false} {
		if !slices.ContainsFunc(c.Rules,
			func(r mitigation.Rule) bool {
				return r.Scope == mitigation.Global &&
					r.RateMode() == byRate
			}) {
			t.Errorf("no global rule with RateMode() %v", byRate)
		}
	}
}

// checkPoP checks a configuration for nodes that count together over three memcached, and does all
// that it says.
func checkPoP(t *testing.T, c config.Config) {
	t.Helper()
	if len(c.Ring.Servers) != 3 {
		t.Errorf("%d servers, want 3", len(c.Ring.Servers))
	}
	if !slices.ContainsFunc(c.Rules,
		func(r mitigation.Rule) bool { return r.Limit <= 1000 && r.Scope == mitigation.PoP }) {
		t.Error("no small limit of the PoP")
	}
	if w := config.ScopeWarnings(&c); len(w) > 0 {
		t.Errorf("warns: %q", w)
	}
}
