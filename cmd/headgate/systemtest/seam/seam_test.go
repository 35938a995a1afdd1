//go:build !race

package seam_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest/seam"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// columns are the doors, and the proxies before them.
var columns = []struct {
	name string
	open func(testing.TB, *daemon) *seam.Column
}{
	{"nginx", behind("nginx", "http", runNginx, seam.Names)},
	{"openresty", behind("openresty", "udp", runOpenResty, seam.Usual)},
	{"haproxy", behind("haproxy", "spop", runHAProxy, seam.Names)},
	{"haproxy-lua", behind("haproxy-lua", "http", runHAProxyLua, seam.Names)},
	{"caddy", behind("caddy", "tcp", runCaddy, seam.Names)},
	{"go", goHandler},
	{"ext-authz", envoy(authz, seam.Names, check, passesCheck)},
	{"rls", envoy("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
		[]string{"X-Api-Key"}, limits, passesLimits)},
}

// fourth returns one row in four, others for another turn, and the first of each kind; in the soak
// all.
func fourth(all []seam.Row, turn int) (rows []seam.Row) {
	kinds := map[string]bool{}
	for n, row := range all {
		if edgetest.Soak || n%4 == turn%4 || !kinds[row.Kind] {
			rows = append(rows, row)
		}
		kinds[row.Kind] = true
	}
	return rows
}

// TestSeam: whatever is denied in its plain form is denied in every spelling, in every column.
func TestSeam(t *testing.T) {
	all, spellings := seam.Rows(edgetest.Soak), edgetest.Rounds(150, 2500)
	chance := uint64(1) // the same every time, but in the soak
	if edgetest.Soak || os.Getenv("HEADGATE_TEST_SEED") != "" {
		chance = edgetest.Seed(t)
	}
	for turn, column := range columns {
		t.Run(column.name, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, "")
			c := column.open(t, d)
			c.Fold = []string{"slash"}
			rows := fourth(all, turn)
			c.Premise(t)
			faults := c.Try(rows)
			faults = append(faults, c.Fuzz(rows, spellings, chance)...)
			t.Logf("%d rows, %d spellings by HEADGATE_TEST_SEED=%d: %s", len(rows),
				spellings, chance, c.Sum())
			c.Premise(t)
			verdict(t, faults)
		})
	}
}

// TestSeamFolds: with every pair of spellings that the site is said to take for one, each form and
// escape of a path is one.
func TestSeamFolds(t *testing.T) {
	folds := []string{"slash", "case", "params", "tail"}
	rows := slices.DeleteFunc(seam.Rows(edgetest.Soak), func(row seam.Row) bool {
		return !strings.HasPrefix(row.Kind, "a form of") && row.Kind != "an escape in a path"
	})
	for i, one := range folds {
		for _, other := range folds[i+1:] {
			t.Run(one+" and "+other, func(t *testing.T) {
				t.Parallel()
				d := startDaemon(t, ", path_fold: ["+one+", "+other+"]")
				c := envoy(authz, seam.Names, check, passesCheck)(t, d)
				c.Fold = []string{one, other}
				c.Premise(t)
				verdict(t, c.Try(rows))
			})
		}
	}
}

// verdict fails the test for faults of a column.
func verdict(t *testing.T, faults []seam.Fault) {
	t.Helper()
	if len(faults) > 0 {
		t.Errorf("%d faults\n%s", len(faults), seam.Tell(faults, 3))
	}
}
