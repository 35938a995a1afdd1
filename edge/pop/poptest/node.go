package poptest

import (
	"context"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Node is a node of a PoP: its gate and its flusher. It is for one goroutine.
type Node struct {
	Gate    *gate.Gate
	Flusher *pop.Flusher
	Ahead   time.Duration // of the node's wall clock before the true time; negative: behind

	soon window.Instant // when it exchanges the keys that cannot wait; 0: there are none
	look window.Instant // when it looks at the others' clocks; 0: not before its next flush
}

// NewNode returns a node called name whose ring is ringtest.Servers. All nodes of one PoP are
// handed the same tally, usually a *ringtest.Measured. It is made at time.Now, so a test calls it
// in a bubble.
func NewNode(t testing.TB, name string, tally pop.Tally, rules ...mitigation.Rule) *Node {
	t.Helper()
	servers := ringtest.Servers()
	return newNode(placementOf(t, servers), tally, gate.Options{
		Node: name, Memory: 1 << 20, Rules: rules, Flush: Every,
		Servers: len(servers), Start: time.Now(),
	})
}

// Pass lets d pass in a bubble, in steps of Every; after each step all nodes flush.
func Pass(d time.Duration, nodes ...*Node) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(Every)
		for _, n := range nodes {
			n.flush(n.Gate.Now(), time.Now().Add(n.Ahead))
		}
	}
}

// placementOf returns the placement of the counters on servers.
func placementOf(t testing.TB, servers []ring.Server) *ring.Placement {
	t.Helper()
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		t.Fatal(err)
	}
	return placement
}

// newNode returns a node whose gate is made by o. Its flusher is not running: a test calls it.
func newNode(placement *ring.Placement, tally pop.Tally, o gate.Options) *Node {
	g := gate.New(o)
	options := pop.Options{
		Tally: tally, Placement: placement,
		Secret: []byte(secret), Every: o.Flush,
	}
	return &Node{Gate: g, Flusher: pop.New(g, options)}
}

// flush makes the node flush. It also takes the step of the gate's background work that judges the
// ring.
func (n *Node) flush(now window.Instant, wall time.Time) {
	n.lookAfter(now, n.Flusher.Flush(context.Background(), now, wall))
	n.Gate.Turn(1, now, wall)
}

// lookAfter notes when to look at the clocks; 0: not before the next flush.
func (n *Node) lookAfter(now window.Instant, again time.Duration) {
	if n.look = 0; again > 0 {
		n.look = now.Add(again)
	}
}

// next returns the earlier of soon and look; 0: there is neither.
func (n *Node) next() window.Instant {
	if n.soon == 0 || n.look != 0 && n.look < n.soon {
		return n.look
	}
	return n.soon
}

// schedule notes whether keys cannot wait for the next flush.
func (n *Node) schedule(now window.Instant) {
	select {
	case <-n.Gate.Hurry():
		n.soon = now.Add(pop.HurryAfter)
	default:
	}
}

// hurry exchanges the keys that cannot wait, and reads the clocks, if due.
func (n *Node) hurry(now window.Instant, wall time.Time) {
	if n.look != 0 && n.look <= now {
		n.lookAfter(now, n.Flusher.Look(context.Background(), now, wall))
	}
	if n.soon == 0 || n.soon > now {
		return
	}
	n.soon = 0
	if again := n.Flusher.Hurry(context.Background(), now, wall); again > 0 {
		n.soon = now.Add(again)
	}
}
