package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
)

// TestGoInstall checks the conditions of `go install
// github.com/headgate-dev/headgate/cmd/headgate@latest`: it accepts no go.mod that replaces or
// excludes modules, and a module is downloaded without the files below any directory called vendor.
func TestGoInstall(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^(replace|exclude)\b.*`).Find(text); found != nil {
		t.Errorf("go install does not accept %q", found)
	}
	if !strings.HasPrefix(string(text), "module "+module+"\n") {
		t.Errorf("another module: %.60s", text)
	}
	for name := range readTexts(t) {
		if strings.HasPrefix(name, "vendor/") || strings.Contains(name, "/vendor/") {
			t.Errorf("%s is left out of the module", name)
		}
	}
}

// TestVersionOfATag checks that a program says the same version whether it was built from a tag,
// packaged or installed by go.
func TestVersionOfATag(t *testing.T) {
	defer func(was string) { cli.Release = was }(cli.Release)
	for release, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3",
		"v1.2.3-4-gabc-dirty": "1.2.3-4-gabc-dirty", "vanilla": "vanilla", "v": "v",
	} {
		cli.Release = release
		if got := cli.BuildVersion(); got != want {
			t.Errorf("%s: %s, want %s", release, got, want)
		}
	}
}
