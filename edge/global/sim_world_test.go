package global

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/gossip"
	"github.com/headgate-dev/headgate/gossip/lossy"
	"github.com/headgate-dev/headgate/window"
)

// sim is one run of one plan, inside a bubble. One goroutine drives everything but memberlist.
//
//	plan ─► faults ─► network, rings, clocks, nodes
//	     └► loads ──► clients ─► Lane.Decide at nodes ─► each client's exact log ─► invariants
type sim struct {
	plan      *simPlan
	dice      dice
	began     time.Time
	at        time.Duration
	net       *lossy.Net
	key       []byte
	placement *ring.Placement
	rings     []*simRing
	nodes     []*simNode
	answering [][]*simNode // by PoP
	clients   []*simClient
	flights   sync.WaitGroup

	// by node and node: since when it is not reached, or is reached again
	unreached [][]time.Duration
	seated    [][]bool

	known  map[string]int // refusals that are known to be wrong
	events []string
	faults []string // the invariants that broke
}

const (
	simEvents = 100 // are remembered
	simDrain  = 2 * time.Minute
)

// simulate runs plan in a bubble of the caller's, and returns how it went.
func simulate(t *testing.T, plan *simPlan) *sim {
	s := newSim(plan)
	if err := s.build(); err != nil {
		t.Fatal(err)
	}
	s.drive()
	s.end()
	return s
}

// newSim returns a run of plan that has not begun.
func newSim(plan *simPlan) *sim {
	s := &sim{
		plan: plan, dice: newDice(plan.seed, 2), began: time.Now(),
		key: []byte(strings.Repeat("k", gossip.KeyBytes)),
		net: lossy.New(plan.seed, plan.links), rings: make([]*simRing, len(plan.pops)),
		known: make(map[string]int), answering: make([][]*simNode, len(plan.pops)),
	}
	for number, l := range plan.loads {
		if l.until > l.from {
			s.clients = append(s.clients, newSimClient(l, number))
		}
	}
	return s
}

// startSim builds the simulation of plan, which ends with the test. Without a word of them the PoPs
// have no ring, and a node is missed after 5 s.
func startSim(t *testing.T, plan *simPlan) *sim {
	t.Helper()
	if plan.ring == nil {
		plan.ring = make([]bool, len(plan.pops))
	}
	if !plan.full {
		plan.detect, plan.rejoin = 5*time.Second, time.Second
	}
	s := newSim(plan)
	if err := s.build(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	return s
}

// build makes and starts all nodes.
func (s *sim) build() (err error) {
	if s.placement, err = ring.NewPlacement([]ring.Server{{
		Host: "127.0.0.1", Port: 20000,
		Weight: 1,
	}, {Host: "127.0.0.1", Port: 20001, Weight: 1}}); err != nil {
		return err
	}
	for pop, in := range s.plan.pops {
		s.rings[pop] = newSimRing(newDice(s.plan.seed, uint64(100+pop)))
		for range in {
			n := &simNode{
				number: len(s.nodes), pop: pop, sim: s,
				name: fmt.Sprintf("n%d", len(s.nodes)), phase: s.dice.IntN(100),
			}
			n.addr = fmt.Sprintf("%s:%d", n.host(), simPort)
			s.nodes = append(s.nodes, n)
		}
	}
	for _, n := range s.nodes {
		s.seated = append(s.seated, slices.Repeat([]bool{true}, len(s.nodes)))
		s.unreached = append(s.unreached, make([]time.Duration, len(s.nodes)))
		if err := n.start(); err != nil {
			return err
		}
	}
	s.meet(0)
	return nil
}

func (s *sim) now() window.Instant { return window.Instant(s.began.Add(s.at).UnixNano()) }

func (s *sim) popName(pop int) string { return string(rune('A' + pop)) }

func (s *sim) named(name string) *simNode {
	for _, n := range s.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// drive lets the plan's time pass.
func (s *sim) drive() {
	step := 1
	for ; len(s.faults) == 0 && !s.over(); step++ {
		s.step(step)
	}
	if len(s.faults) == 0 {
		s.checkEnd()
	}
}

// step lets one step pass.
func (s *sim) step(step int) {
	pass(simStep)
	s.at = time.Duration(step) * simStep
	s.harm()
	if !s.plan.full && step%10 == 0 {
		s.seat()
	}
	for _, n := range s.nodes {
		n.turn(step)
	}
	s.look()
	for _, c := range s.clients {
		s.ask(c)
	}
	s.check(step)
}

// over reports whether there is nothing left to wait for: over memberlist, that all have found each
// other again.
func (s *sim) over() bool {
	if s.at < s.plan.last {
		return false
	}
	return !s.plan.full || s.at >= s.healed() || s.whole()
}

// whole reports whether every node that runs knows all that do.
func (s *sim) whole() bool {
	running := 0
	for _, n := range s.nodes {
		if n.answers() {
			running++
		}
	}
	return !slices.ContainsFunc(s.nodes, func(n *simNode) bool {
		return n.answers() && n.members() != running
	})
}

// look notes who answers.
func (s *sim) look() {
	for pop := range s.answering {
		s.answering[pop] = s.answering[pop][:0]
	}
	for _, n := range s.nodes {
		if n.answers() {
			s.answering[n.pop] = append(s.answering[n.pop], n)
		}
	}
}

// end stops everything: a goroutine that still runs afterwards fails the bubble.
func (s *sim) end() {
	s.net.Heal()
	for _, n := range s.nodes {
		s.net.Resume(n.addr)
		n.leave()
	}
	s.flights.Wait()
	if s.plan.full {
		pass(simDrain)
	}
	for _, n := range s.nodes {
		n.end.Crash()
	}
}

// event adds a line to the report.
func (s *sim) event(format string, args ...any) {
	if len(s.events) == simEvents {
		s.events = s.events[1:]
	}
	s.events = append(s.events, fmt.Sprintf("%7.2fs ", s.at.Seconds())+fmt.Sprintf(format, args...))
}

// fail notes that an invariant is broken.
func (s *sim) fail(law, format string, args ...any) {
	s.event("BROKEN "+law+": "+format, args...)
	s.faults = append(s.faults, fmt.Sprintf("%s at %.2fs: ", law,
		s.at.Seconds())+fmt.Sprintf(format, args...))
}

// explain adds each node's view of a client's key to the report.
func (s *sim) explain(c *simClient) {
	for _, n := range s.nodes {
		if n.down {
			s.event("  %s is down", n.name)
			continue
		}
		st := n.standing(c)
		s.event("  %s in %s, rate %.1f alone %v, view sum %.1f limit %.1f shed %v echo %.1f "+
			"%.2fs old; here %d; reporter %s, owner %s, standby %s",
			n.name, s.popName(n.pop), st.Rate, st.Alone, st.View.Sum, st.View.Limit, st.View.Shed,
			st.View.EchoRate, math.Min(999, n.edge.Now().Sub(st.Viewed).Seconds()),
			n.edge.Offered(n.edge.Now(), []byte(c.rule.Name), c.key), st.Reporter,
			st.Owner, st.Standby)
	}
}

// report is the text about a run that broke an invariant.
func (s *sim) report() string {
	return fmt.Sprintf("%s\n%v  events:\n    %s", strings.Join(s.faults, "\n"), s.plan,
		strings.Join(s.events, "\n    "))
}
