//go:build soak

package interop

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestCallsBesideAnUpdate: the 99th of 100 calls while 16,384 descriptors are put in force again and
// again is at most twice that without, or below 2 ms.
func TestCallsBesideAnUpdate(t *testing.T) {
	m := manage(t, "")
	n := startNode(t, t.TempDir(), "rls: {xds: {server: '"+m.at+"'}}\n")
	m.send("0", many(16_384, 1_000_000))
	n.await("0")
	p99 := func() time.Duration {
		var took []time.Duration
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			began := time.Now()
			if got := n.remaining("shop", "plan", fmt.Sprint(len(took)%16_384)); got < 0 {
				t.Fatalf("%d left", got)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	without := p99()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := range 5 {
			<-tick.C
			next := many(16_384, 1_000_000)
			next.Descriptors[i].RateLimit.RequestsPerUnit++
			m.send(fmt.Sprint(i+1), next)
		}
	}()
	with := p99()
	<-done
	t.Logf("p99 %v without, %v beside an update each second", without, with)
	if with > max(2*without, 2*time.Millisecond) {
		t.Error("the updates are felt")
	}
}
