package config_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestDeployedPoPCounts keeps deploy/headgate-pop.yaml what README shows: three servers, and rules of a PoP, small and large.
func TestDeployedPoPCounts(t *testing.T) {
	c, err := config.Read(filepath.Join(deployed, "headgate-pop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkPoP(t, c)
	if c.Gossip.KeyFile == "" {
		t.Error("the counters' names have no secret")
	}
	if !slices.ContainsFunc(c.Rules, func(r mitigation.Rule) bool { return r.Limit > 1000 && r.Scope == mitigation.PoP }) {
		t.Error("no large limit")
	}
}

// TestDeployedGlobalCounts keeps deploy/headgate-global.yaml what README shows: gossip off loopback under a key, and global
// rules of both kinds, by rates and by counts.
func TestDeployedGlobalCounts(t *testing.T) {
	c, err := config.Read(filepath.Join(deployed, "headgate-global.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkPoP(t, c)
	if c.Gossip.Bind.IsZero() || c.Gossip.Bind.Loopback() || len(c.Gossip.Join) < 2 || c.Gossip.KeyFile == "" {
		t.Errorf("%+v", c.Gossip)
	}
	for _, byRate := range []bool{true, false} {
		if !slices.ContainsFunc(c.Rules, func(r mitigation.Rule) bool { return r.Scope == mitigation.Global && r.RateMode() == byRate }) {
			t.Errorf("no global rule with RateMode() %v", byRate)
		}
	}
}

// checkPoP checks a configuration for nodes that count together over three memcached, and does all that it says.
func checkPoP(t *testing.T, c config.Config) {
	t.Helper()
	if len(c.Ring.Servers) != 3 {
		t.Errorf("%d servers, want 3", len(c.Ring.Servers))
	}
	if !slices.ContainsFunc(c.Rules, func(r mitigation.Rule) bool { return r.Limit <= 1000 && r.Scope == mitigation.PoP }) {
		t.Error("no small limit of the PoP")
	}
	if w := config.Warnings(c); len(w) > 0 {
		t.Errorf("warns: %q", w)
	}
}

// composed is all that deploy/compose.yaml says, and what it may say: compose calls anything else a fault at best.
type composed struct {
	Name      string                `yaml:"name"`
	Memcached service               `yaml:"x-memcached"`
	Services  map[string]service    `yaml:"services"`
	Networks  map[string]network    `yaml:"networks"`
	Configs   map[string]configFile `yaml:"configs"`
}

type service struct {
	Image string `yaml:"image"`
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile_inline"`
	} `yaml:"build"`
	Command []string `yaml:"command"`
	Configs []struct {
		Source string `yaml:"source"`
		Target string `yaml:"target"`
	} `yaml:"configs"`
	Networks    []string `yaml:"networks"`
	DependsOn   []string `yaml:"depends_on"`
	HealthCheck struct {
		Test     []string `yaml:"test"`
		Interval string   `yaml:"interval"`
		Timeout  string   `yaml:"timeout"`
	} `yaml:"healthcheck"`
	Memory   string   `yaml:"mem_limit"`
	ReadOnly bool     `yaml:"read_only"`
	Drop     []string `yaml:"cap_drop"`
	Security []string `yaml:"security_opt"`
	Restart  string   `yaml:"restart"`
}

type network struct {
	Internal bool `yaml:"internal"`
}

type configFile struct {
	Content string `yaml:"content"`
}

func readCompose(t *testing.T) (c composed) {
	t.Helper()
	f, err := os.Open(filepath.Join(deployed, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read from
	in := yaml.NewDecoder(f)
	in.KnownFields(true) // "ports" is none
	if err := in.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestComposeRefersToWhatItHas: every network, service and file that a service names is there, and the memcached that headgate's
// configuration names are services of that name.
func TestComposeRefersToWhatItHas(t *testing.T) {
	c := readCompose(t)
	for name, s := range c.Services {
		for _, n := range s.Networks {
			if _, ok := c.Networks[n]; !ok {
				t.Errorf("%s: no network %s", name, n)
			}
		}
		for _, other := range s.DependsOn {
			if _, ok := c.Services[other]; !ok {
				t.Errorf("%s: no service %s", name, other)
			}
		}
		for _, f := range s.Configs {
			if c.Configs[f.Source].Content == "" || !slices.Contains(s.Command, f.Target) {
				t.Errorf("%s: file %s, to be at %s", name, f.Source, f.Target)
			}
		}
	}
	conf, err := config.Parse("compose.yaml", []byte(c.Configs["headgate"].Content))
	if err != nil {
		t.Fatal(err)
	}
	checkPoP(t, conf)
	for _, s := range conf.Ring.Servers {
		if c.Services[s.Address.Host].Image == "" || s.Address.Port != 11211 {
			t.Errorf("%v is no service", s)
		}
	}
}

// TestComposedMemcachedIsOursAlone: no way in but the ring's network, which leads nowhere else, and no UDP.
func TestComposedMemcachedIsOursAlone(t *testing.T) {
	c := readCompose(t)
	count := 0
	for name, s := range c.Services {
		if !strings.HasPrefix(s.Image, "memcached:") {
			continue
		}
		count++
		if !slices.Equal(s.Networks, []string{"ring"}) || !c.Networks["ring"].Internal {
			t.Errorf("%s is in %v", name, s.Networks)
		}
		for _, want := range []string{"-U 0", "-m ", "-F", "-X"} {
			if !strings.Contains(strings.Join(s.Command, " ")+" ", want) {
				t.Errorf("%s runs without %s: %v", name, want, s.Command)
			}
		}
		if !strings.HasPrefix(s.Image, "memcached:1.6") || s.Memory == "" {
			t.Errorf("%s: %s in %s", name, s.Image, s.Memory)
		}
	}
	if count != 3 {
		t.Errorf("%d memcached, want 3", count)
	}
}
