//go:build soak

package verify

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInterfaceTools: the linters of npm have nothing to say of docs/openapi.json but that probes
// have no 4xx, and a program with the types made of the document asks a daemon.
func TestInterfaceTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "npm")
	if err := os.CopyFS(dir, os.DirFS("npm")); err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	run := func(line ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", line, err, out)
		}
		return string(out)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("npm", "ci", "--ignore-scripts")
	write("redocly.yaml", "extends: [recommended]\n")
	said := run("npx", "redocly", "lint", document)
	if n := strings.Count(said, "Warning was generated"); strings.Count(said,
		"by the operation-4xx-response rule") != n || n > 2 {
		t.Error(said)
	}
	write(".spectral.yaml", "extends: ['spectral:oas']\n")
	run("npx", "spectral", "lint", "--fail-severity", "hint", document)
	run("npx", "openapi-typescript", document, "-o", "openapi.d.ts")
	run("npx", "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node",
		"--rewriteRelativeImportExtensions", "--outDir", "made", "client.ts")

	built := filepath.Join(dir, "headgate")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", built, "./cmd/headgate")
	build.Dir = filepath.Dir(filepath.Dir(document)) // its own module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	daemon := exec.CommandContext(ctx, built, "serve")
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = daemon.Wait() }()
	for range 100 {
		if answer, err := http.Get("http://127.0.0.1:4292/readyz"); err == nil {
			_ = answer.Body.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	said = run("node", "made/client.js", "http://127.0.0.1:4291", "http://127.0.0.1:4292")
	if said != "allow per-ip:100 login:5\n" {
		t.Error(said)
	}
}
