//go:build soak

package replay

import (
	"os"
	"testing"
)

// wholeTraces returns the directory of the logs that testdata/traces holds excerpts of, which is
// outside the repository: they are too large for it.
func wholeTraces(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HEADGATE_TRACES")
	if dir == "" {
		t.Skip("HEADGATE_TRACES names no directory of whole traces")
	}
	return dir
}

// TestReplaySoakTraces is TestReplayOfRealTraces on whole logs, one of them of a distributed attack
// on a login.
func TestReplaySoakTraces(t *testing.T) {
	checkTraces(t, wholeTraces(t), 1000,
		map[string]int{"web_blog_2016": 206_860, "attack_asa_webvpn_2025": 260_505})
}
