//go:build soak

package interop

import (
	"slices"
	"testing"
)

// TestH2SpecBeside: the door fails no test of h2spec that a bare grpc-go server passes in the same
// run. It takes a minute, for what fails there is waited for.
func TestH2SpecBeside(t *testing.T) {
	node, other := h2spec(t, start(t, "")), h2spec(t, startBare(t))
	t.Logf("headgate: %d passed, %d skipped, failed %q", node.passed, node.skipped, node.failed)
	t.Logf("grpc-go: %d passed, %d skipped, failed %q", other.passed, other.skipped, other.failed)
	for _, name := range node.failed {
		if !slices.Contains(other.failed, name) {
			t.Errorf("only headgate fails: %s", name)
		}
	}
}
