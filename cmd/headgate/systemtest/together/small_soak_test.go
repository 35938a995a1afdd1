//go:build soak && !race

package together

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

// TestSmallSoakFlood asks two real nodes ten times as much as small limits allow: counts alone hold
// them.
func TestSmallSoakFlood(t *testing.T) {
	rules := []struct {
		limit  int
		window time.Duration
	}{
		{1, time.Second},
		{2, time.Second},
		{5, 2 * time.Second},
		{7, time.Second},
		{100, time.Second},
	}
	var conf strings.Builder
	conf.WriteString("rules:\n")
	for n, r := range rules {
		fmt.Fprintf(&conf, "  - {name: r%d, limit: %d, window: %v, scope: pop}\n",
			n, r.limit, r.window)
	}
	nodes := startNodes(t, 2, systemtest.AddressesOf(startRingServers(t, 3)), conf.String())
	joined(t, nodes, "r0")
	clients := []*hg.Client{nodes[0].Client(), nodes[1].Client()}
	systemtest.Hold(t, 5*time.Second) // then each knows of the other
	const windows = 30
	var busy sync.WaitGroup
	for n, r := range rules {
		busy.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(n), 7))
			gap, began := r.window/time.Duration(10*r.limit), time.Now()
			admitted, shed, denied := 0, 0, 0
			for k := 1; time.Since(began) < (windows+1)*r.window; k++ {
				if wait := time.Until(began.Add(time.Duration(k) * gap)); wait > 0 {
					systemtest.Hold(t, wait)
				}
				a, err := clients[rng.IntN(2)].Check(t.Context(), fmt.Sprintf("r%d", n), "k", 1)
				switch {
				case err != nil || time.Since(began) < r.window:
				case a.Allowed():
					admitted++
				default:
					if denied++; a.Why == wire.WhyShed {
						shed++
					}
				}
			}
			share := float64(admitted) / float64(windows*r.limit)
			t.Logf("%d a %v at ten times: %.3f of it in %d windows after the first, %d of %d "+
				"refused by a ratio", r.limit, r.window, share, windows, shed, denied)
			if shed > 0 || share < 0.95 || share > 1.05 {
				t.Errorf("%d a %v: %.3f, %d shed", r.limit, r.window, share, shed)
			}
		})
	}
	busy.Wait()
}
