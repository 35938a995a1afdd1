package config

import (
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
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
