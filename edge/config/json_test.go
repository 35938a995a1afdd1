package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// TestJSONKeepsEverything: the YAML made of a configuration's JSON is the YAML that Marshal makes,
// odd names included.
func TestJSONKeepsEverything(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"{}",
		"pop: \"123\"\nnode: \"true\"\nlisten: {udp: [], http: [\"unix:/run/h.sock\", " +
			"\"127.0.0.1:1\"]}\nrules: []\n",
		"ring: {servers: [\"10.0.0.1:11211 2\", \"10.0.0.2:11211\"]}\ngossip: {bind: " +
			"\"127.0.0.1:4293\", join: [\"127.0.0.1:4294\"]}\n" +
			"rules:\n  - {name: \"1e3\", limit: 1000000000, window: 1500ms, scope: global, " +
			"action: block, block_for: 10m, mode: shadow, failure_mode: deny}\n",
	} {
		c, err := config.Parse("a.yaml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.JSON()
		if err != nil || !json.Valid(text) {
			t.Fatalf("%v: %s", err, text)
		}
		if got, err := config.YAMLFromJSON(text); err != nil || string(got) != string(want) {
			t.Errorf("%v:\n%s\nwant\n%s", err, got, want)
		}
	}
}

// TestYAMLFromJSONOfAnotherVersion: a field that this version does not know is kept, and what is no
// configuration is an error.
func TestYAMLFromJSONOfAnotherVersion(t *testing.T) {
	t.Parallel()
	got, err := config.YAMLFromJSON(
		[]byte(`{"pop":"lhr","clients":{"from":"peer","hops":0},"policies":[{"name":"a"}]}`))
	if want := "pop: lhr\nclients:\n  from: peer\n  hops: 0\npolicies:\n  - name: " +
		"a\n"; err != nil || string(got) != want {
		t.Errorf("%v:\n%s", err, got)
	}
	for _, text := range []string{"", "[]", `"a"`, "{", strings.Repeat("[", 10000)} {
		if _, err := config.YAMLFromJSON([]byte(text)); err == nil {
			t.Errorf("%.20q is a configuration", text)
		}
	}
}
