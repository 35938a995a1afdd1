package edge

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

func TestReload(t *testing.T) {
	e := newTestEdge(t, 1<<20, shedRule, blockRule)
	now := e.Now()
	for _, rule := range []string{"shed", "block"} {
		for range 5 {
			e.askAt(now, wire.Check, rule, "k", 1)
		}
	}
	at := time.Now()
	bad := fmt.Errorf("line 3: no such field")
	if err := e.Reload(at, func() (config.Config, error) { return config.Config{}, bad }); !errors.Is(err, bad) {
		t.Fatalf("%v", err)
	}
	if got := e.askAt(now, wire.Check, "shed", "k", 1); got.Why != wire.WhyLimit {
		t.Errorf("a bad file changed something: %+v", got)
	}
	if _, err := e.reloads.last(); !errors.Is(err, bad) {
		t.Errorf("the failure is not remembered: %v", err)
	}
	raised := shedRule
	raised.Limit = 4
	good := func() (config.Config, error) { return config.Config{Rules: []mitigation.Rule{raised}}, nil }
	if err := e.Reload(at, good); err != nil {
		t.Fatal(err)
	}
	if got := e.askAt(now, wire.Check, "shed", "k", 1); got.Status != wire.Allow || got.Remaining != 0 {
		t.Errorf("limit raised from 3 to 4 with 3 used: %+v", got)
	}
	if got := e.askAt(now, wire.Check, "block", "k", 1); got.Code != wire.UnknownRule {
		t.Errorf("a rule that is gone: %+v", got)
	}
	if n := len(e.flags.Live(now)); n != 1 {
		t.Errorf("%d flags, want only the shed one", n)
	}
}

func TestReloadUnderLoad(t *testing.T) {
	a, b := shedRule, shedRule
	a.Limit, b.Limit, b.Window = 1_000_000, 2_000_000, 20*time.Second
	e := newTestEdge(t, 1<<20, a)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for n := range 2 {
		wg.Go(func() {
			for !stop.Load() {
				if got := e.Lane(n).Decide(e.Now(), rand.Uint64(), query(wire.Check, "shed", "k", 1)).Answer; got.Status != wire.Allow {
					t.Errorf("%+v", got)
					return
				}
			}
		})
	}
	for n := range 1000 {
		rules := [][]mitigation.Rule{{a}, {b, blockRule}, {blockRule, a}}[n%3]
		_ = e.Reload(time.Now(), func() (config.Config, error) { return config.Config{Rules: rules}, nil })
	}
	stop.Store(true)
	wg.Wait()
}
