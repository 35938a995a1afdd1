package global

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// simMinute is the rule that the restarts here are about.
var simMinute = mitigation.Rule{
	Name: "minute", Limit: 60, Window: time.Minute,
	Scope: mitigation.Global,
}

// simRestart is a client that uses up its limit in several PoPs, one node of which then ends and
// starts again.
type simRestart struct {
	ring    bool // each PoP has one
	forgets bool // the ring of the node's PoP starts anew, too, and so is empty
	killed  bool // the node has no time to write its state
	used    []int
}

func (r simRestart) String() string {
	return fmt.Sprintf("ring %v, forgets %v, killed %v, used %v", r.ring,
		r.forgets, r.killed, r.used)
}

// TestRestartIsNoAmnesty has a client use its limit up in three PoPs, or most of it, and ends the
// nodes of two of them in turn and starts them again: the client gets its limit in any window and
// no more, wherever it asks then, and all of it a window later.
func TestRestartIsNoAmnesty(t *testing.T) {
	edgetest.Alone(t)
	for _, r := range []simRestart{
		{used: []int{20, 20, 20}},
		{used: []int{20, 20, 20}, killed: true},
		{used: []int{30, 30, 0}},
		{used: []int{30, 30, 0}, killed: true},
		{used: []int{20, 20, 20}, ring: true},
		{used: []int{20, 20, 20}, ring: true, killed: true},
		{used: []int{30, 30, 0}, ring: true},
		{used: []int{30, 30, 0}, ring: true, killed: true},
		{used: []int{20, 20, 20}, ring: true, forgets: true},
		{used: []int{14, 14, 14}},
		{used: []int{14, 14, 14}, killed: true},
		{used: []int{14, 14, 14}, ring: true},
		{used: []int{14, 14, 14}, ring: true, killed: true},
		{used: []int{30, 30, 0}, ring: true, forgets: true},
		{used: []int{30, 30, 0}, ring: true, forgets: true, killed: true},
	} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { r.run(t) })
		})
	}
}

func (r simRestart) run(t *testing.T) {
	s := startSim(t, &simPlan{
		seed: 1, pops: []int{1, 1, 1}, ring: []bool{r.ring, r.ring, r.ring},
		rules: []mitigation.Rule{simMinute}, state: t.TempDir(),
	})
	c := &simSpread{sim: s, log: window.NewLog(simMinute.Window, time.Millisecond)}
	c.pass(15 * time.Second)
	for pop, n := range r.used {
		for range n {
			c.ask(pop)
			c.pass(100 * time.Millisecond)
		}
	}
	c.pass(2 * time.Second)
	for node := range 2 {
		s.nodes[node].endState(r.killed)
		if r.forgets {
			s.rings[node].forget()
		}
		c.pass(time.Second)
		if err := s.nodes[node].start(); err != nil {
			t.Fatal(err)
		}
		s.meet(node)
		for range 25 {
			c.pass(200 * time.Millisecond)
			for pop, n := range r.used {
				// a PoP that never met the client is silent of less than a quarter of its part,
				// restart or not
				if n > 0 {
					c.ask(pop)
				}
			}
		}
	}
	// less: something was counted twice
	if c.worst > simMinute.Limit*105/100 || c.worst < simMinute.Limit*95/100 {
		t.Errorf("%d of %d admitted in the worst window, by PoP %v after %v at first", c.worst,
			simMinute.Limit, c.by, r.used)
	}
	c.pass(simMinute.Window)
	for range 60 {
		c.ask(0)
		c.pass(100 * time.Millisecond)
	}
	if got := c.log.Admitted(s.now()); got < simMinute.Limit*9/10 {
		t.Errorf("a window later only %d of %d were admitted", got, simMinute.Limit)
	}
}

// simSpread is a client that asks where it likes.
type simSpread struct {
	*sim
	turn  int
	log   *window.Log
	by    [3]int
	worst int64
}

// pass lets time pass.
func (c *simSpread) pass(d time.Duration) {
	for range d / simStep {
		c.turn++
		c.step(c.turn)
	}
}

// ask makes one request at a node.
func (c *simSpread) ask(node int) {
	if !c.nodes[node].decide(simMinute.Name, []byte("spread")).Deny {
		c.log.Admit(c.now(), 1)
		c.by[node]++
		c.worst = max(c.worst, c.log.Admitted(c.now()))
	}
}

// openState restores the node's state, and has it written again.
func (n *simNode) openState() {
	dir := filepath.Join(n.sim.plan.state, n.name)
	state := state.Open(n.edge, dir, state.Digests{}, n.world.options.Log)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		state.Run(ctx)
	}()
	n.stop = func() { cancel(); <-done }
}

// endState ends the node: by a signal, after which it flushes and writes its state, or at once.
func (n *simNode) endState(killed bool) {
	file := filepath.Join(n.sim.plan.state, n.name, "headgate.state")
	last, err := os.ReadFile(file)
	if !killed {
		n.flush()
	}
	n.crash()
	n.sim.flights.Wait()
	if killed && err == nil {
		_ = os.WriteFile(file, last, 0o600)
	}
}
