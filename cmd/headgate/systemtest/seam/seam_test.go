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

// open are the columns in which the law does not hold yet, with the reason. It is empty in the end:
// a fault elsewhere fails, and so does a column that holds.
var open = map[string]string{}

// TestSeam: whatever is denied in its plain form is denied in every spelling, in every column.
func TestSeam(t *testing.T) {
	rows := seam.Rows(everything)
	chance := uint64(1) // the same every time, but in the soak
	if everything || os.Getenv("HEADGATE_TEST_SEED") != "" {
		chance = edgetest.Seed(t)
	}
	for _, column := range columns {
		t.Run(column.name, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, "")
			c := column.open(t, d)
			c.Fold = []string{"slash"}
			c.Premise(t)
			faults := c.Try(rows)
			faults = append(faults, c.Fuzz(rows, spellings, chance)...)
			t.Logf("%d rows, %d spellings by HEADGATE_TEST_SEED=%d: %s", len(rows),
				spellings, chance, c.Sum())
			c.Premise(t)
			verdict(t, column.name, faults)
		})
	}
}

// TestSeamFolds: with every pair of spellings that the site is said to take for one, each form and
// escape of a path is one.
func TestSeamFolds(t *testing.T) {
	folds := []string{"slash", "case", "params", "tail"}
	rows := slices.DeleteFunc(seam.Rows(everything), func(row seam.Row) bool {
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
				verdict(t, "folds", c.Try(rows))
			})
		}
	}
}

// verdict fails the test for faults of a column that should hold, and for none of one that is open.
func verdict(t *testing.T, name string, faults []seam.Fault) {
	t.Helper()
	switch reason, known := open[name]; {
	case known && len(faults) == 0:
		t.Errorf("%s holds: take it off the list of those that do not (%s)", name, reason)
	case known:
		t.Logf("known: %s: %d faults\n%s", reason, len(faults), seam.Tell(faults, 3))
	case len(faults) > 0:
		t.Errorf("%d faults\n%s", len(faults), seam.Tell(faults, 3))
	}
}
