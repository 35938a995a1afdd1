//go:build packages

package verify

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	xmod "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// tagged is the version that the published modules require of each other.
const tagged = "0.1.0"

// TestReleased makes a release, and uses its files as others do.
func TestReleased(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dist")
	if _, err := command(t, "make", "-C", top, "release", "VERSION="+tagged, "ARCH=amd64",
		"OUT="+out); err != nil {
		t.Fatal(err)
	}
	run(t, "sh", "-c", "cd "+out+" && sha256sum --check --strict --quiet SHA256SUMS")
	listed := strings.Count(read(t, out+"/SHA256SUMS"), "\n")
	if files, err := os.ReadDir(out); err != nil || len(files) != listed+1 {
		t.Errorf("%d files, of which %d have sums", len(files), listed)
	}

	loaded, err := loader.Load(out + "/headgate-" + tagged + ".tgz")
	if err != nil || loaded.Metadata.Version != tagged || loaded.Metadata.AppVersion != tagged {
		t.Errorf("chart %+v, %v", loaded, err)
	}

	name := "headgate-" + tagged + "-linux-amd64"
	run(t, "tar", "-xzf", out+"/"+name+".tar.gz", "-C", out)
	program := out + "/" + name + "/headgate"
	if said := run(t, program, "version"); !strings.Contains(said, tagged) {
		t.Error(said)
	}
	run(t, program, "config", "check", top+"/deploy/headgate.yaml")
	var bom struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ PURL string }
	}
	if err := json.Unmarshal([]byte(read(t, out+"/"+name+".cdx.json")), &bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; bom.BOMFormat != "CycloneDX" || c.Name != "headgate" ||
		c.Version != tagged {
		t.Errorf("%+v", c)
	}
	checkAction(t, out)
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		found := false
		for _, c := range bom.Components {
			found = found || strings.HasPrefix(c.PURL, "pkg:golang/"+strings.ToLower(m.Path)+"@"+m.Version)
		}
		if !found {
			t.Errorf("no component for %s %s", m.Path, m.Version)
		}
	}
}

// checkAction runs the step of .github/actions/check with the release at dir.
func checkAction(t *testing.T, dir string) {
	t.Helper()
	var action struct {
		Runs struct{ Steps []struct{ Run string } }
	}
	if err := yaml.Unmarshal([]byte(read(t, top+"/.github/actions/check/action.yml")),
		&action); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	write(t, bad, "rules: [{name: a, limit: 0, window: 1s}]\n")
	for conf, want := range map[string]string{
		top + "/deploy/headgate.yaml": "", bad: "::error file=" + bad + ",line=1,col=26::",
	} {
		out, err := command(t, "env", "HEADGATE_RELEASES=file://"+dir, "CONFIG="+conf, "CASES=",
			"VERSION="+tagged, "FORMAT=github", "bash", "-c", action.Runs.Steps[0].Run)
		if (err != nil) != (want != "") || !strings.Contains(out, want) {
			t.Errorf("%s: %v %q", conf, err, out)
		}
	}
}

// TestReleasedModules: with the three modules at a proxy, as tags put them there, others
// import the interceptor, and build Caddy with the module. (TestGoInstall installs the command.)
func TestReleasedModules(t *testing.T) {
	proxy := t.TempDir()
	for path, dir := range map[string]string{
		"github.com/headgate-dev/headgate":                         top,
		"github.com/headgate-dev/headgate/edge/client/caddy":       top + "/edge/client/caddy",
		"github.com/headgate-dev/headgate/edge/client/interceptor": top + "/edge/client/interceptor",
	} {
		at := filepath.Join(proxy, path, "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		packed, err := os.Create(at + "/v" + tagged + ".zip")
		if err != nil {
			t.Fatal(err)
		}
		err = zip.CreateFromDir(packed, xmod.Version{Path: path, Version: "v" + tagged}, dir)
		if err != nil || packed.Close() != nil {
			t.Fatal(err)
		}
		write(t, at+"/v"+tagged+".info", `{"Version":"v`+tagged+`"}`)
		write(t, at+"/v"+tagged+".mod", read(t, dir+"/go.mod"))
		write(t, at+"/list", "v"+tagged+"\n")
	}
	cache := t.TempDir()
	stored, err := exec.Command("go", "env", "GOMODCACHE").Output() // what is here already
	if err != nil {
		t.Fatal(err)
	}
	def, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	golang := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=file://"+proxy+",file://"+
			strings.TrimSpace(string(stored))+"/cache/download,"+strings.TrimSpace(string(def)),
			"GONOSUMDB=github.com/headgate-dev/*", "GOFLAGS=-mod=mod -modcacherw", "GOWORK=off",
			"GOMODCACHE="+cache)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for name, imports := range map[string]string{
		"calls": `import _ "github.com/headgate-dev/headgate/edge/client/interceptor"
func main() {}`,
		"caddy": `import (
	"github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	_ "github.com/headgate-dev/headgate/edge/client/caddy"
)
func main() { caddycmd.Main() }`,
	} {
		dir := t.TempDir()
		write(t, dir+"/main.go", "package main\n"+imports+"\n")
		golang(dir, "mod", "init", "example.org/"+name)
		golang(dir, "mod", "tidy")
		golang(dir, "build", "-o", name, ".")
		if name == "caddy" && !strings.Contains(run(t, dir+"/caddy", "list-modules"), "headgate") {
			t.Error("Caddy has no module of headgate")
		}
	}
}

// TestReleasedSite: docs/ become pages, with a search, and none loads from another host.
func TestReleasedSite(t *testing.T) {
	run(t, "make", "-C", top, "site")
	pages, err := filepath.Glob(top + "/dist/site/*.html")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	read(t, top+"/dist/site/search/search_index.json")
	loads := regexp.MustCompile(`<(script|link|img|iframe)[^>]*(src|href)="?(https?:)?//`)
	for _, page := range pages {
		if found := loads.FindString(read(t, page)); found != "" {
			t.Errorf("%s: %s", page, found)
		}
	}
}
