package clitest

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Noon is the present in tests of commands' output.
var Noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// HostileKey is a key as a careless daemon would hand it over: it clears the screen and hides
// itself.
const HostileKey = "\x1b[2J\u202e203.0.113.66\x00"

var update = flag.Bool("update", false, "write the golden files anew")

// CompareGolden fails the test where got differs from the file at path. With -update it writes got
// there instead.
func CompareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path) //nolint:gosec // a golden file of the test's
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

// ProgramPath returns where a program is, or skips the test.
func ProgramPath(t testing.TB, name string) string {
	t.Helper()
	// Debian's sbin is not in everybody's path
	for _, at := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(at); err == nil {
			return path
		}
	}
	t.Skip(name + " is not installed")
	return ""
}

// Field returns a value of a line of pairs.
func Field(line, name string) string {
	_, rest, _ := strings.Cut(line, " "+name+"=")
	value, _, _ := strings.Cut(rest, " ")
	return strings.Trim(value, `"`)
}
