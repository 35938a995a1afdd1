//go:build !race

package admin_test

import (
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// TestMitigationsPageIsCheap: the first page over 10,000 flags has its rows, and copies hardly any
// flag that is not on it. How long it takes is for BenchmarkAdminMitigations to say.
func TestMitigationsPageIsCheap(t *testing.T) {
	a := newNodeOf(gatetest.NewFlagged(t, 10_000), admin.Options{Local: true})
	page := askFor[api.MitigationsView](t, a, "/v1/mitigations")
	if len(page.Mitigations) != 100 || page.Total != 10_000 || page.NextCursor == "" {
		t.Errorf("%d rows of %d", len(page.Mitigations), page.Total)
	}
	if n := testing.AllocsPerRun(5, func() { a.ask("GET", "/v1/mitigations", "") }); n > 2_500 {
		t.Errorf("%v allocations, want a few a row", n)
	}
}
