package verify

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleaseCheck: deploy/release/check has a line for each fault of a release, and none for one
// without.
func TestReleaseCheck(t *testing.T) {
	const caddy = "edge/client/caddy/go.mod"
	whole := map[string]string{
		"CHANGELOG.md": "## [Unreleased]\n## [1.2.3] - 2026-12-01\n",
		"README.md":    "headgate@v1.2.3, headgate-1.2.3-linux-amd64.tar.gz\n",
		"go.mod":       "module github.com/headgate-dev/headgate\n",
		caddy: "module x\nrequire (\n\tgithub.com/headgate-dev/headgate v1.2.3\n" +
			"\texample.org/a v0.0.0\n)\n",
		"edge/client/interceptor/go.mod":  "module y\nrequire github.com/headgate-dev/headgate v1.2.3\n",
		"deploy/helm/headgate/Chart.yaml": "version: 1.2.3\nappVersion: 1.2.3\n",
		"docs/install.md":                 "none\n",
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"whole":      {},
		"section":    {"CHANGELOG.md", "## [Unreleased]\n", "CHANGELOG.md: no section ## [1.2.3]"},
		"chart":      {"deploy/helm/headgate/Chart.yaml", "version: 1.2.2\n", "version 1.2.2, not 1.2.3"},
		"docs":       {"docs/install.md", "go install …/headgate/cmd/headgate@v1.2.2\n", "docs/install.md:1: names version 1.2.2"},
		"replace":    {"go.mod", "module a\nreplace b => ../b\n", "go.mod: a replace"},
		"in a block": {caddy, "module x\nreplace (\n\tb => ../b\n)\n", caddy + ": a replace"},
		"no version": {
			caddy, "module x\nrequire github.com/headgate-dev/headgate v0.0.0\n",
			"requires github.com/headgate-dev/headgate v0.0.0",
		},
		"no version in a block": {
			caddy, "module x\nrequire (\n\tgithub.com/headgate-dev/headgate v0.0.0\n)\n",
			"requires github.com/headgate-dev/headgate v0.0.0",
		},
	} {
		dir := t.TempDir()
		put := func(file, text string) {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, file), text)
		}
		for file, text := range whole {
			put(file, text)
		}
		if c.file != "" {
			put(c.file, c.text)
		}
		put("deploy/release/check", read(t, top+"/deploy/release/check"))
		check := exec.Command("bash", filepath.Join(dir, "deploy/release/check"), "1.2.3")
		out, err := check.CombinedOutput()
		said := strings.TrimSpace(string(out))
		if (err != nil) != (c.want != "") || !strings.Contains(said, c.want) ||
			strings.Count(said, "\n") > 0 || c.want == "" && said != "" {
			t.Errorf("%s: %v, %q, want %q", name, err, said, c.want)
		}
	}
	if got := run(t, top+"/deploy/release/check", "-tags", "1.2.3"); got !=
		"v1.2.3\nedge/client/caddy/v1.2.3\nedge/client/interceptor/v1.2.3\n" {
		t.Errorf("tags %q", got)
	}
}
