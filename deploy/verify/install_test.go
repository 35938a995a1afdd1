package verify

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module  = "github.com/headgate-dev/headgate"
	release = "v1.2.3"
)

// released returns the address of a module proxy that has the present sources as a release, as the
// public one will once there is a tag: the files of the repository, without those of nested modules
// and without those below a directory called vendor.
func released(t *testing.T) (proxy string) {
	t.Helper()
	dir := t.TempDir()
	versions := filepath.Join(dir, module, "@v")
	write(t, filepath.Join(versions, release+".info"),
		fmt.Sprintf(`{"Version": %q, "Time": "2026-03-01T00:00:00Z"}`, release))
	write(t, filepath.Join(versions, release+".mod"), read(t, top+"/go.mod"))
	write(t, filepath.Join(versions, "list"), release+"\n")
	file, err := os.Create(filepath.Join(versions, release+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the writer's Close tells
	w := zip.NewWriter(file)
	for _, name := range moduleFiles(t) {
		entry, err := w.Create(module + "@" + release + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(read(t, filepath.Join(top, name)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "file://" + dir
}

// moduleFiles returns the files that a release of the main module has, from the top of the
// repository.
func moduleFiles(t *testing.T) (files []string) {
	t.Helper()
	all := strings.Split(run(t, "git", "-C", top, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard"), "\x00")
	var nested []string
	for _, name := range all {
		if dir, file := filepath.Split(name); file == "go.mod" && dir != "" {
			nested = append(nested, dir)
		}
	}
	for _, name := range all {
		other := slices.ContainsFunc(nested,
			func(dir string) bool { return strings.HasPrefix(name, dir) })
		if _, err := os.Stat(filepath.Join(top, name)); name != "" && err == nil && !other &&
			!strings.Contains(name, "/vendor/") {
			files = append(files, name)
		}
	}
	return files
}

// go install makes the program of a release: it has the release's version, and all that is
// embedded.
func TestGoInstall(t *testing.T) {
	bin := t.TempDir()
	// The release first: a cache may have one of its own.
	proxies := []string{released(t), "file://" + filepath.Join(strings.TrimSpace(run(t, "go", "env", "GOMODCACHE")),
		"cache/download"), strings.TrimSpace(run(t, "go", "env", "GOPROXY"))}
	cache := filepath.Join(t.TempDir(), "modules")
	run(t, "env", "GOBIN="+bin, "GOPROXY="+strings.Join(proxies, ","), "GONOSUMDB="+module,
		"GOMODCACHE="+cache, "GOFLAGS=-modcacherw -trimpath", "CGO_ENABLED=0",
		"go", "install", module+"/cmd/headgate@latest")
	program := filepath.Join(bin, "headgate")
	if said := run(t, program, "version"); !strings.HasPrefix(said, "headgate 1.2.3 (go1.") {
		t.Errorf("%s", said)
	}
	text := read(t, program)
	for _, embedded := range []string{"uPlot.iife.min.js", "assets/index.html", "auth_request"} {
		if !strings.Contains(text, embedded) {
			t.Errorf("%s is not embedded", embedded)
		}
	}
}
