//go:build soak

package gate

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestPastOfManyKeys: 200,000 keys in five minutes, and the same an hour and hours later.
func TestPastOfManyKeys(t *testing.T) {
	r := mitigation.Rule{Name: "r", Limit: 20, Window: 10 * time.Second}
	const keys = 200_000
	g := newPastGate(t, 160<<20, 4<<20, r)
	g.every = time.Second / 2
	name := func(n int) string { return fmt.Sprint("key-", n) }
	g.pass(40 * time.Second) // to the full minute
	for range 300 {
		for range 2000 {
			g.ask("r", name(int(keys*math.Pow(g.chance.Float64(), 3))), 1)
		}
		g.pass(time.Second)
	}
	look := func(when string, want [3]float64) {
		var worst [3]float64
		asked, beyond := 0, 0
		for n := 0; n < keys; n += 1 + n/1000 { // all that ask much
			errs, more := g.check("r", name(n), always)
			for k, e := range errs {
				worst[k] = max(worst[k], e)
			}
			asked, beyond = asked+1, beyond+more
			if t.Failed() {
				break
			}
		}
		t.Logf("%s: %.5f, and %d of %d beyond the error", when, worst, beyond, asked)
		if beyond > asked/50 {
			t.Errorf("%s: beyond the error too often", when)
		}
		for k := range want {
			if worst[k] > want[k] {
				t.Errorf("%s: errors of %.5f of the cost, not %.5f", when, worst, want)
			}
		}
	}
	look("at once", [3]float64{.0005, .003, .025})
	g.every = time.Second
	g.pass(10 * time.Minute)
	look("ten minutes later", [3]float64{.0005, .003, .025})
	g.pass(2 * time.Hour)
	look("hours later", [3]float64{.0005, .003, .025})
}
