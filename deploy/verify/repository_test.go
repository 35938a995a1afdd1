package verify

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"
)

// The workflows are what GitHub reads, and none may do more than read unless a job says so.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(top + "/.github/workflows/*.yml")
	if err != nil || len(files) != 5 {
		t.Fatal(files, err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := linter.LintFiles(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
	for _, file := range files {
		if !strings.Contains(read(t, file), "\npermissions:\n  contents: read\n") {
			t.Errorf("%s: may do more than read", file)
		}
	}
}

// dependabot looks at every module that is published or that CI tests.
func TestDependabot(t *testing.T) {
	var conf struct {
		Updates []struct {
			System    string `json:"package-ecosystem"`
			Directory string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, top+"/.github/dependabot.yml")), &conf); err != nil {
		t.Fatal(err)
	}
	looked := map[string][]string{}
	for _, u := range conf.Updates {
		looked[u.System] = append(looked[u.System], u.Directory)
	}
	_, list, _ := strings.Cut(read(t, top+"/.ci/test"), "for module in ")
	list, _, _ = strings.Cut(list, ";")
	for _, module := range append(strings.Fields(list), "", "edge/client/caddy") {
		if !slices.Contains(looked["gomod"], "/"+module) {
			t.Errorf("not looked at: /%s", module)
		}
	}
	for _, dir := range looked["gomod"] {
		if _, err := os.Stat(top + dir + "/go.mod"); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(looked["npm"], []string{"/deploy/verify/npm"}) ||
		!slices.Equal(looked["github-actions"], []string{"/"}) {
		t.Errorf("%v", looked)
	}
}

// The top level has the packages, the folders around them, and what every repository has.
func TestTopLevel(t *testing.T) {
	known := strings.Fields("bench cmd deploy docs edge gossip mitigation sketch window " +
		"go.mod go.sum Makefile README.md CHANGELOG.md CONTRIBUTING.md CODE_OF_CONDUCT.md " +
		"SECURITY.md LICENSE LICENSES REUSE.toml")
	for file := range strings.Lines(run(t, "git", "-C", top, "ls-files")) {
		name, _, _ := strings.Cut(strings.TrimSpace(file), "/")
		if name[0] != '.' && !slices.Contains(known, name) {
			t.Errorf("%s: not at the top level", name)
		}
	}
}

// Each licence that REUSE.toml names is there, headgate's is that of LICENSE, and what others wrote
// is under theirs.
func TestLicences(t *testing.T) {
	var reuse struct {
		Version     int
		Annotations []struct {
			Path, License, Copyright string
		}
	}
	text := strings.NewReplacer("SPDX-License-Identifier", "license", "SPDX-FileCopyrightText",
		"copyright").Replace(read(t, top+"/REUSE.toml"))
	if err := toml.Unmarshal([]byte(text), &reuse); err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for _, a := range reuse.Annotations {
		if read(t, top+"/LICENSES/"+a.License+".txt") == "" || a.Copyright == "" {
			t.Errorf("%+v", a)
		}
		last[a.Path] = a.License
	}
	if reuse.Version != 1 || last["**"] != "Apache-2.0" ||
		read(t, top+"/LICENSES/Apache-2.0.txt") != read(t, top+"/LICENSE") {
		t.Errorf("%+v", reuse)
	}
	for file := range strings.FieldsSeq(run(t, "git", "-C", top, "ls-files", "*third_party*LICENSE")) {
		if last[filepath.Dir(file)+"/**"] == "" {
			t.Errorf("%s: of no licence", file)
		}
	}
}
