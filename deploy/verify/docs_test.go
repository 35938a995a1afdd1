package verify

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/headgate-dev/headgate/docs"
)

var promQL = regexp.MustCompile("(?s)```promql\n(.*?)\n```")

// Each indicator of docs/slo.md is an expression that promtool reads, over series that a daemon
// has.
func TestServiceLevels(t *testing.T) {
	promtool, told := program(t, "promtool"), metricsPage(t)
	found := promQL.FindAllStringSubmatch(read(t, top+"/docs/slo.md"), -1)
	if len(found) < 6 {
		t.Fatalf("%d indicators", len(found))
	}
	var rules strings.Builder
	rules.WriteString("groups:\n- name: slo\n  rules:\n")
	for i, f := range found {
		for _, fault := range told.unknownTo(f[1]) {
			t.Errorf("%s: %s", f[1], fault)
		}
		fmt.Fprintf(&rules, "  - {record: \"slo:%d\", expr: %q}\n", i, f[1])
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, rules.String())
	run(t, promtool, "check", "rules", file)
}

// The menu of the site is that of `headgate docs`.
func TestSiteMenu(t *testing.T) {
	var conf struct{ Nav []map[string]any }
	if err := yaml.Unmarshal([]byte(read(t, top+"/deploy/site/mkdocs.yml")), &conf); err != nil {
		t.Fatal(err)
	}
	menu := docs.Menu()
	if len(conf.Nav) != len(menu)+1 || conf.Nav[0]["headgate"] != "README.md" {
		t.Fatalf("%v", conf.Nav)
	}
	for i, group := range menu {
		var got []string
		pages, _ := conf.Nav[i+1][group.Name].([]any)
		for _, page := range pages {
			got = append(got, strings.TrimSuffix(fmt.Sprint(page), ".md"))
		}
		if !slices.Equal(got, group.Pages) {
			t.Errorf("%s: %q, want %q", group.Name, got, group.Pages)
		}
	}
}
