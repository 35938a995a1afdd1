//go:build !race

package together

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/window"
)

// worldRestart is how a node of a world ends, before it is started again.
type worldRestart struct {
	killed  bool // by kill -9
	forgets bool // its memcached is restarted, too
}

// restartLimit is the limit of a window in these tests.
const restartLimit = 60

// TestWorldRestart has clients use up their limits in several PoPs, ends a node and starts it
// again: none gets more than its limit in any window.
func TestWorldRestart(t *testing.T) {
	t.Parallel()
	restartWorlds(t, 20*time.Second, map[string][]worldRestart{
		"Alone": {{}, {killed: true}}, "Ring": {{killed: true}, {forgets: true}},
	})
}

// restartWorlds runs a world without rings and one with, in which nodes end as named, one after the
// other.
func restartWorlds(t *testing.T, length time.Duration, all map[string][]worldRestart) {
	for name, ends := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startPoPs(t, worldPlan{
				rules: fmt.Sprintf("rules: [{name: sixty, limit: %d, window: %v, scope: global}]\n",
					restartLimit, length),
				nodes: 1, alone: name == "Alone", state: t.TempDir(),
			})
			for n, how := range ends {
				even := newWanderer(l, fmt.Sprintf("even-%d", n), length, 20, 20, 20)
				uneven := newWanderer(l, fmt.Sprintf("uneven-%d", n), length, 30, 30, 0)
				l.endUsedUp(how, even, uneven)
			}
		})
	}
}

// wanderer is a client that asks in several PoPs.
type wanderer struct {
	lab   *worldLab
	key   string
	uses  []int // up, by PoP
	log   *window.Log
	by    []int
	worst int64
}

func newWanderer(l *worldLab, key string, length time.Duration, uses ...int) *wanderer {
	return &wanderer{
		lab: l, key: key, uses: uses, by: make([]int, len(uses)),
		log: window.NewLog(length*99/100, time.Microsecond),
	}
}

// ask asks once in each PoP where the client is to use up more than that many.
func (w *wanderer) ask(more int) {
	w.lab.Helper()
	for pop, uses := range w.uses {
		if uses <= more {
			continue // who never met the client is silent of less than a quarter of its part
		}
		a, err := w.lab.nodes[pop].Client().Check(w.lab.Context(), "sixty", w.key, 1)
		if err != nil {
			w.lab.Fatal(err)
		}
		if now := window.Instant(time.Now().UnixNano()); a.Status == wire.Allow {
			w.log.Admit(now, 1)
			w.by[pop]++
			w.worst = max(w.worst, w.log.Admitted(now))
		}
	}
}

// endUsedUp has clients use up their limits, ends the first node and starts it again, and has them
// ask on.
func (l *worldLab) endUsedUp(how worldRestart, clients ...*wanderer) {
	l.Helper()
	const pace = 50 * time.Millisecond
	for round := range 30 {
		for _, w := range clients {
			w.ask(round)
		}
		systemtest.Hold(l, pace)
	}
	node, pop, asked := l.nodes[0], l.pops[0], time.Now()
	systemtest.Hold(l, 10*systemtest.FlushInterval) // all is told
	edgetest.Await(l, "a state file with the last decisions", edgetest.Patience, func() bool {
		age, ok := node.Metrics("headgate_state_age_seconds")["headgate_state_age_seconds"]
		return ok && age < time.Since(asked).Seconds()
	})
	if how.killed {
		node.Kill()
	} else {
		node.Stop()
		node.Ended = true
	}
	if how.forgets {
		pop.server.Kill()
		pop.server.Start()
	}
	l.restart(node)
	for range 40 {
		for _, w := range clients {
			w.ask(0)
		}
		systemtest.Hold(l, pace)
	}
	for _, w := range clients {
		l.Logf("%+v: %s: %d of %d admitted in the worst window, by PoP %v, which used %v up", how,
			w.key, w.worst, restartLimit, w.by, w.uses)
		if most := int64(restartLimit * 105 / 100); w.worst > most || w.worst < restartLimit-2 {
			l.Errorf("%+v: %s: %d of %d admitted in the worst window, by PoP %v; want at most %d",
				how, w.key, w.worst, restartLimit, w.by, most)
		}
	}
}

// restart starts a member that was killed where it was.
func (l *worldLab) restart(dead *systemtest.Node) {
	l.Helper()
	for _, p := range l.pops {
		if i := slices.Index(p.nodes, dead); i >= 0 {
			at := slices.Index(l.nodes, dead)
			p.nodes[i] = l.startMember(p, dead.ID, dead.Gossips)
			l.nodes[at] = p.nodes[i]
			p.nodes[i].Spared = dead.Spared
		}
	}
}
