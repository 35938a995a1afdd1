package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/mitigation"
)

// leaves returns the paths of the fields that hold a value, as the decoder knows them.
func leaves(table []field, above string) (paths []string) {
	for _, f := range table {
		path := join(above, f.name)
		switch {
		case f.name == "rules":
			paths = append(paths, leaves(f.below, path+"[]")...)
		case f.below != nil:
			paths = append(paths, leaves(f.below, path)...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// documented returns all fields of the reference.
func documented() (all []Field) {
	for _, s := range Reference() {
		all = append(all, s.Fields...)
	}
	return all
}

// TestReferenceIsComplete compares the reference with the fields that the decoder knows.
func TestReferenceIsComplete(t *testing.T) {
	var paths []string
	for _, f := range documented() {
		paths = append(paths, f.Path)
		if f.Values == "" || f.Meaning == "" {
			t.Errorf("%s: %+v", f.Path, f)
		}
	}
	known := leaves(new(Config).fields(), "")
	for _, path := range known {
		if !slices.Contains(paths, path) {
			t.Errorf("%s is not documented", path)
		}
	}
	for _, path := range paths {
		if !slices.Contains(known, path) {
			t.Errorf("%s is documented, and no field", path)
		}
	}
	for _, s := range fixedSettings {
		if !slices.Contains(paths, s.name) {
			t.Errorf("%s is fixed at start, and no field", s.name)
		}
	}
}

// TestReferenceDefaults reads a file with each documented default, which must be the built-in
// configuration, and a rule with each, which must be one that has name, limit and window only.
func TestReferenceDefaults(t *testing.T) {
	var top, rule []string
	groups := map[string][]string{}
	for _, f := range documented() {
		group, name, in := strings.Cut(f.Path, ".")
		switch {
		case f.Default == "":
		case group == "rules[]":
			rule = append(rule, name+": "+f.Default)
		case in:
			groups[group] = append(groups[group], name+": "+f.Default)
		default:
			top = append(top, f.Path+": "+f.Default)
		}
	}
	for group, fields := range groups {
		top = append(top, group+": {"+strings.Join(fields, ", ")+"}")
	}
	c, err := Parse("defaults", []byte(strings.Join(top, "\n")))
	if err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("%v: %+v, want %+v", err, c, Default())
	}
	text := "rules: [{name: a, limit: 1, window: 1s, " + strings.Join(rule, ", ") + "}]"
	want := []mitigation.Rule{{Name: "a", Limit: 1, Window: time.Second}}
	if c, err := Parse("rule", []byte(text)); err != nil || !reflect.DeepEqual(c.Rules, want) {
		t.Errorf("%v: %+v, want %+v", err, c.Rules, want)
	}
}

// TestEveryFieldIsShown checks that deploy/headgate.yaml and the effective configuration, as
// `headgate config check --print` writes it, have every field.
func TestEveryFieldIsShown(t *testing.T) {
	example, err := os.ReadFile("../../deploy/headgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	effective, err := Default().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"deploy/headgate.yaml": example, "Marshal": effective} {
		var content map[string]any
		if err := yaml.Unmarshal(text, &content); err != nil {
			t.Fatal(err)
		}
		shown := paths(content, "")
		for _, path := range leaves(new(Config).fields(), "") {
			if !slices.Contains(shown, path) {
				t.Errorf("%s: no %s", name, path)
			}
		}
	}
}

// paths returns the paths of a file's values; of a list of mappings, those of its first.
func paths(content map[string]any, above string) (all []string) {
	for name, v := range content {
		path := join(above, name)
		all = append(all, path)
		if items, ok := v.([]any); ok && len(items) > 0 {
			v, path = items[0], path+"[]"
		}
		if below, ok := v.(map[string]any); ok {
			all = append(all, paths(below, path)...)
		}
	}
	return all
}

// TestNeedsRestart checks both kinds of fields.
func TestNeedsRestart(t *testing.T) {
	for _, f := range documented() {
		if f.NeedsRestart() && strings.HasPrefix(f.Path, "rules[]") {
			t.Errorf("%s needs a restart", f.Path)
		}
	}
	if fields := fmt.Sprint(nodeReference()[0].NeedsRestart(), nodeReference()[2].NeedsRestart()); fields != "true false" {
		t.Errorf("node, admin_token_file: %s", fields)
	}
}
