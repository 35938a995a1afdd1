package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

// documented returns all fields of the reference.
func documented() (all []config.Field) {
	for _, s := range config.Reference() {
		all = append(all, s.Fields...)
	}
	return all
}

// TestReferenceIsComplete compares the reference with the fields of the effective configuration,
// which shows every field.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, f := range documented() {
		paths = append(paths, f.Path)
		if f.Values == "" || f.Meaning == "" {
			t.Errorf("%s: %+v", f.Path, f)
		}
	}
	effective, err := config.Default().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(effective, &content); err != nil {
		t.Fatal(err)
	}
	known := leaves(content, "")
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
}

// leaves returns the paths of a file's values; of a list of mappings, those of its first.
func leaves(content map[string]any, above string) (all []string) {
	for name, v := range content {
		path := above + name
		if items, ok := v.([]any); ok && len(items) > 0 {
			v, path = items[0], path+"[]"
		}
		if below, ok := v.(map[string]any); ok && len(below) > 0 {
			all = append(all, leaves(below, path+".")...)
			continue
		}
		all = append(all, strings.TrimSuffix(path, "[]"))
	}
	return all
}

// TestReferenceDefaults reads a file with each documented default, which must be the built-in
// configuration, and a rule with each, which must be one that has name, limit and window only.
func TestReferenceDefaults(t *testing.T) {
	t.Parallel()
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
	c, err := config.Parse("defaults", []byte(strings.Join(top, "\n")))
	if err != nil || !reflect.DeepEqual(c, config.Default()) {
		t.Errorf("%v: %+v, want %+v", err, c, config.Default())
	}
	text := "rules: [{name: a, limit: 1, window: 1s, " + strings.Join(rule, ", ") + "}]"
	want := []mitigation.Rule{{Name: "a", Limit: 1, Window: time.Second}}
	if c, err := config.Parse("rule", []byte(text)); err != nil ||
		!reflect.DeepEqual(c.Rules, want) {
		t.Errorf("%v: %+v, want %+v", err, c.Rules, want)
	}
}

// TestChoices reads a rule with each value of the fields that have a few.
func TestChoices(t *testing.T) {
	t.Parallel()
	for _, f := range documented() {
		name, ok := strings.CutPrefix(f.Path, "rules[].")
		words, _, _ := strings.Cut(f.Values, "`, of")
		if !ok || !strings.HasPrefix(words, "`") {
			continue
		}
		for word := range strings.SplitSeq(strings.Trim(words, "`"), "`, `") {
			_, err := config.Parse("choice",
				[]byte("rules: [{name: a, limit: 1, window: 1s, "+name+": "+word+"}]"))
			if err != nil && strings.Contains(err.Error(), "must be") {
				t.Errorf("%s: %s: %v", name, word, err)
			}
		}
	}
}

// TestNeedsRestart checks both kinds of fields.
func TestNeedsRestart(t *testing.T) {
	t.Parallel()
	for _, f := range documented() {
		if f.NeedsRestart && strings.HasPrefix(f.Path, "rules[]") {
			t.Errorf("%s needs a restart", f.Path)
		}
		if want := map[string]bool{
			"node":             true,
			"admin_token_file": false,
		}; f.NeedsRestart != want[f.Path] &&
			(f.Path == "node" || f.Path == "admin_token_file") {
			t.Errorf("%s: needs a restart %v", f.Path, f.NeedsRestart)
		}
	}
}

// TestEveryFieldIsShown checks that deploy/headgate.yaml has every field; TestReferenceIsComplete,
// that the effective configuration has.
func TestEveryFieldIsShown(t *testing.T) {
	var content map[string]any
	if err := yaml.Unmarshal(read(t, "../../deploy/headgate.yaml"), &content); err != nil {
		t.Fatal(err)
	}
	shown := leaves(content, "")
	for _, f := range documented() {
		if _, section := content[f.Path]; !section && !slices.Contains(shown, f.Path) {
			t.Errorf("no %s", f.Path)
		}
	}
}
