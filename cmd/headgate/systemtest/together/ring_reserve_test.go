//go:build !race

package together

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// reserveLimit is the limit of the tests of a reserve of a fifth.
const reserveLimit = 10_000

// startReserved starts two daemons with rule fleet, which they share over a real memcached.
func startReserved(t *testing.T) []*systemtest.Node {
	t.Helper()
	nodes := startNodes(t, 2, systemtest.AddressesOf(startRingServers(t, 2)), fmt.Sprintf(`rules:
  - {name: fleet, limit: %d, window: 1h, scope: pop, reserve: {critical: 20%%}}
`, reserveLimit))
	joined(t, nodes, "fleet")
	return nodes
}

// TestRingReserve: of a limit that two daemons share over a real memcached, traffic without a tier
// gets four fifths, to the last unit, and critical traffic the whole, at either daemon.
func TestRingReserve(t *testing.T) {
	t.Parallel()
	nodes := startReserved(t)
	f := &reservedFleet{nodes: nodes}
	const open = reserveLimit * 4 / 5
	f.takes(t, 0, open/2, "normal")
	f.share(t)
	f.denied(t, 1, open-f.used+1, "normal", "reserve")
	f.takes(t, 1, open-f.used, "normal")
	f.share(t) // critical traffic asks on
	// by the count, or by the ratio that paces what is over its part
	f.denied(t, 0, 1, "normal", "reserve", "shed")
	f.denied(t, 1, 1, "normal", "reserve", "shed")
	f.takes(t, 0, reserveLimit/10, "critical")
	f.share(t)
	f.denied(t, 1, reserveLimit-f.used+1, "critical", "limit")
	f.takes(t, 1, reserveLimit-f.used, "critical")
	f.denied(t, 1, 1, "critical", "limit")
}

// reservedFleet is what a key uses of rule fleet at all nodes.
type reservedFleet struct {
	nodes []*systemtest.Node
	used  int
}

// takes fails the test unless a request passes.
func (f *reservedFleet) takes(t *testing.T, node, cost int, tier string) (left int) {
	t.Helper()
	left = f.nodes[node].Left(fmt.Sprintf("check fleet k cost=%d tier=%s", cost, tier))
	f.used += cost
	return left
}

// denied fails the test unless a request is denied for one of those reasons.
func (f *reservedFleet) denied(t *testing.T, node, cost int, tier string, whys ...string) {
	t.Helper()
	reply := f.nodes[node].Line(fmt.Sprintf("check fleet k cost=%d tier=%s", cost, tier))
	if why, _, _ := strings.Cut(strings.TrimPrefix(reply, "deny why="),
		" "); !slices.Contains(whys, why) {
		t.Errorf("%s: %d of tier %s after %d: %q, want %q", f.nodes[node].ID, cost, tier,
			f.used, reply, whys)
	}
}

// share has critical traffic ask each daemon until it knows what was used at the other: a daemon
// learns of a key's counts when it is asked for it.
func (f *reservedFleet) share(t *testing.T) {
	t.Helper()
	for node, n := range f.nodes {
		edgetest.Await(t, n.ID+" knows what was used", edgetest.Patience, func() bool {
			return f.takes(t, node, 1, "critical") == reserveLimit-f.used
		})
	}
}

// TestRingReserveInAFlood: while both daemons are asked for four times the limit in ten seconds, no
// critical request is denied before the limit is used up, and the rest gets four fifths.
func TestRingReserveInAFlood(t *testing.T) {
	t.Parallel()
	nodes := startReserved(t)
	var sum reserved
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() { sum.flood(n, 4*reserveLimit/len(nodes)) })
	}
	all.Wait()
	t.Logf("of %d critical requests %d passed, and %d others", sum.asked.Load(),
		sum.critical.Load(), sum.rest.Load())
	if sum.critical.Load() != sum.asked.Load() || sum.asked.Load() != reserveLimit/5 {
		t.Errorf("%d of %d critical requests passed", sum.critical.Load(), sum.asked.Load())
	}
	const open = reserveLimit * 4 / 5
	const late = reserveLimit / 20 // of what the other daemon admitted, on a busy machine
	if rest := sum.rest.Load(); rest > open+late || rest+sum.critical.Load() < open {
		t.Errorf("%d others passed, and %d critical ones", rest, sum.critical.Load())
	}
}

// reserved counts what becomes of a flood.
type reserved struct{ asked, critical, rest atomic.Int64 }

// flood sends a daemon so many requests of cost 1, 20 to a datagram each 10 ms. One in 20 is
// critical.
func (r *reserved) flood(n *systemtest.Node, requests int) {
	conn, err := net.Dial("udp", n.UDP)
	if err != nil {
		n.Error(err)
		return
	}
	defer conn.Close() //nolint:errcheck // of a test
	const packed = 20
	lines := strings.Repeat("check fleet k\n", packed-1) + "check fleet k tier=critical\n"
	room := make([]byte, 64<<10)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range requests / packed {
		<-tick.C
		_, _ = conn.Write([]byte(lines))
		_ = conn.SetReadDeadline(time.Now().Add(edgetest.Patience))
		size, err := conn.Read(room)
		if err != nil {
			n.Errorf("%s: %v", n.ID, err)
			return
		}
		answers := strings.Split(strings.TrimSpace(string(room[:size])), "\n")
		last := len(answers) - 1
		r.asked.Add(1)
		if strings.HasPrefix(answers[last], "allow ") {
			r.critical.Add(1)
		}
		for _, answer := range answers[:last] {
			if strings.HasPrefix(answer, "allow ") {
				r.rest.Add(1)
			}
		}
	}
}
