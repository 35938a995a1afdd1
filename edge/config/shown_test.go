package config

import (
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestEveryFieldIsShown checks that deploy/headgate.yaml has every field; TestReferenceIsComplete,
// that the effective configuration has.
func TestEveryFieldIsShown(t *testing.T) {
	example, err := os.ReadFile("../../deploy/headgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(example, &content); err != nil {
		t.Fatal(err)
	}
	shown := pathsOf(content, "")
	for _, s := range Reference() {
		for _, f := range s.Fields {
			if !slices.Contains(shown, f.Path) {
				t.Errorf("no %s", f.Path)
			}
		}
	}
}

// pathsOf returns the paths of a file's values; of a list of mappings, those of its first.
func pathsOf(content map[string]any, above string) (all []string) {
	for name, v := range content {
		path := join(above, name)
		all = append(all, path)
		if items, ok := v.([]any); ok && len(items) > 0 {
			v, path = items[0], path+"[]"
		}
		if below, ok := v.(map[string]any); ok {
			all = append(all, pathsOf(below, path)...)
		}
	}
	return all
}
