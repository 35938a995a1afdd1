//go:build soak

package global

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlantedBugs runs the simulator on the source with one bug after the other.
func TestPlantedBugs(t *testing.T) {
	broken := regexp.MustCompile(`--- FAIL: Test(Simulator\w*).*\n\s+(.*\n.*)`)
	for _, bug := range plantedBugs {
		t.Run(bug.name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay",
				plant(t, bug.file, bug.is, bug.becomes), "-run", "^TestSimulator", ".")
			out, err := run.CombinedOutput()
			found := broken.FindStringSubmatch(string(out))
			switch {
			case err == nil && bug.missed != "":
				t.Logf("missed: %s", bug.missed)
			case err == nil:
				t.Errorf("not noticed")
			case found == nil:
				t.Errorf("something else broke:\n%s", out)
			default:
				t.Logf("%s: %s", found[1], found[2])
			}
		})
	}
}

// plant returns an overlay in which file says becomes where it says is.
func plant(t *testing.T, file, is, becomes string) string {
	t.Helper()
	path, source := soil(t, file, is)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: bad}})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "overlay.json")
	for name, text := range map[string][]byte{
		bad: []byte(strings.Replace(source, is, becomes, 1)),
		at:  overlay,
	} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return at
}
