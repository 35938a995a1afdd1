package gate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

func TestReload(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	now := g.Now()
	for _, rule := range []string{"shed", "block"} {
		for range 5 {
			ask(g, now, gate.Check, rule, "k", 1)
		}
	}
	at := time.Now()
	bad := fmt.Errorf("line 3: no such field")
	g.RefuseReload(bad)
	if got := ask(g, now, gate.Check, "shed", "k", 1); got.Why != mitigation.ByLimit {
		t.Errorf("a bad file changed something: %+v", got)
	}
	if _, err := g.LastReload(); !errors.Is(err, bad) {
		t.Errorf("the failure is not remembered: %v", err)
	}
	raised := gatetest.Shed
	raised.Limit = 4
	g.Reload(at, []mitigation.Rule{raised})
	if good, err := g.LastReload(); !good.Equal(at) || err != nil {
		t.Errorf("the success is not remembered: %v, %v", good, err)
	}
	if got := ask(g, now, gate.Check, "shed", "k", 1); got.Deny || got.Remaining != 0 {
		t.Errorf("limit raised from 3 to 4 with 3 used: %+v", got)
	}
	if got, err := g.Lane(0).Decide(now, 0,
		gatetest.Ask(gate.Check, "block", "k", 1)); !errors.Is(err, gate.ErrUnknownRule) {
		t.Errorf("a rule that is gone: %+v, %v", got, err)
	}
	if all := flagsOf(g, now); len(all) != 1 || all[0].Rule != "shed" {
		t.Errorf("%+v, want only the flag of rule shed", all)
	}
}

// flagsOf returns copies of all live flags.
func flagsOf(g *gate.Gate, now window.Instant) (all []mitigation.Flag) {
	g.EachFlag(now, func(f *mitigation.Flag) bool {
		all = append(all, f.Clone())
		return true
	})
	return all
}

// TestReloadUnderLoad changes the rules a thousand times while requests run. No key under its limit
// is refused, and no request finds the rules missing.
func TestReloadUnderLoad(t *testing.T) {
	a, b := gatetest.Shed, gatetest.Shed
	a.Limit, b.Limit, b.Window = 1_000_000, 2_000_000, 20*time.Second
	g := gatetest.New(t, 1<<20, a)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range 2 {
		wg.Go(func() {
			for !stop.Load() {
				if got, err := g.Lane(n).Decide(g.Now(), rand.Uint64(),
					gatetest.Ask(gate.Check, "shed", "k", 1)); got.Deny || err != nil {
					t.Errorf("%+v", got)
					return
				}
			}
		})
	}
	for n := range edgetest.Rounds(200, 1000) {
		rules := [][]mitigation.Rule{{a}, {b, gatetest.Block}, {gatetest.Block, a}}[n%3]
		g.Reload(time.Now(), rules)
	}
	stop.Store(true)
	wg.Wait()
}
