package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestSettings: a rule's settings are the fields that its file changes.
func TestSettings(t *testing.T) {
	for fields, want := range map[string]string{
		"window: 1m": "",
		"window: 1m, scope: node, action: shed, mode: enforce, failure_mode: local, shed_by: " +
			"request, epoch: 10s": "",
		"window: 1m, retry_spread: 20%, scope: " +
			"pop": "scope=pop retry_spread=20%",
		"window: 1m, action: block, block_for: [10m, 1h], max_blast: " +
			"20": "action=block block_for=[10m, 1h] max_blast=20",
		"window: 1m, action: block, block_for: " +
			"10m": "action=block block_for=10m",
		"window: 1m, burst: 9, delay: " +
			"2s": "kind=bucket burst=9 delay=2s",
		"kind: " +
			"concurrency": "kind=concurrency",
		"kind: concurrency, lease: " +
			"7s": "kind=concurrency lease=7s",
		"window: 1m, reserve: {gold: 20%, silver: " +
			"5%}": "reserve={gold: 20%, silver: 5%}",
		"window: 1m, scope: global, fairness: requests, mode: shadow, counts: " +
			"offered": "scope=global mode=shadow fairness=requests counts=offered",
	} {
		c, err := Parse("f", []byte("rules: [{name: r, limit: 5, "+fields+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range Settings(c.Rules[0]) {
			got = append(got, s.Name+"="+s.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", fields, strings.Join(got, " "), want)
		}
	}
	if Settings(mitigation.Rule{}) == nil {
		t.Error("nil, which JSON has as null")
	}
}

// TestSettingsAreAll: a file made of the settings of a rule, its name, limit and window means the
// same rule.
func TestSettingsAreAll(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rules {
			again := fmt.Sprintf("rules:\n  - name: %q\n    limit: %s\n", r.Name,
				decimal(&r, r.Limit))
			if r.Window > 0 {
				again += fmt.Sprintf("    window: %s\n", r.Window)
			}
			for _, s := range Settings(r) {
				again += fmt.Sprintf("    %s: %s\n", s.Name, s.Value)
			}
			d, err := Parse("again", []byte(again))
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, again)
				continue
			}
			if diff := cmp.Diff(r, d.Rules[0]); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", file, diff, again)
			}
		}
	}
}
