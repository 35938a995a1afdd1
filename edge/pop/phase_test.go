package pop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
)

// TestPhase: the first flush comes an interval and the phase after the start, the others an
// interval after the one before, and the last at once when the node stops.
func TestPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const phase = 70 * time.Millisecond
		servers := ringtest.Servers()
		placement, err := ring.NewPlacement(servers)
		if err != nil {
			t.Fatal(err)
		}
		g := gate.New(gate.Options{
			Node: "a", Memory: 1 << 20, Flush: poptest.Every,
			Servers: len(servers), Start: time.Now(),
		})
		f := pop.New(g, pop.Options{
			Tally: ringtest.NewMemory(len(servers)), Placement: placement,
			Secret: []byte("s"), Every: poptest.Every, Phase: phase,
		})
		ctx, stop := context.WithCancel(t.Context())
		var done bool
		go func() { f.Run(ctx); done = true }()
		for n, wait := range []time.Duration{poptest.Every, phase, poptest.Every, poptest.Every} {
			time.Sleep(wait - time.Nanosecond)
			synctest.Wait()
			if n == 1 && f.Stats(g.Now()).Flushes != 0 {
				t.Errorf("a flush before the phase was over")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if got := f.Stats(g.Now()).Flushes; got != uint64(n) {
				t.Errorf("%d flushes after step %d", got, n)
			}
		}
		stop()
		synctest.Wait()
		if got := f.Stats(g.Now()).Flushes; !done || got != 4 {
			t.Errorf("%d flushes in all, want 4; ended %v", got, done)
		}
	})
}
