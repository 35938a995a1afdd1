package admin_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// joined is a node of a PoP in a bubble of time, and its door.
type joined struct {
	*node
	*poptest.Node
	tally *ringtest.Measured
	last  time.Duration // how long the last flush is said to have taken; 0: as it did
	// totals that are said to be implausible, and one exchange less that failed; 0: as they were
	bad uint64
}

// newJoined returns a node with a ring of two servers. All of one PoP share a tally.
func newJoined(
	t *testing.T, name string, tally *ringtest.Measured, rules ...mitigation.Rule,
) *joined {
	t.Helper()
	j := &joined{Node: poptest.NewNode(t, name, tally, rules...), tally: tally}
	j.node = newNodeOf(j.Gate, admin.Options{Local: true, PoP: "lhr", Ring: j.stats})
	return j
}

// stats returns the flusher's figures, but those of real time and of faults as the test has set
// them.
func (j *joined) stats(now window.Instant) pop.Stats {
	s := j.Flusher.Stats(now)
	if j.last > 0 {
		s.Last = j.last
	}
	if j.bad > 0 {
		s.Failed, s.Implausible = j.bad-1, j.bad
	}
	return s
}

// pass lets time pass with all nodes flushing.
func pass(d time.Duration, nodes ...*joined) {
	all := make([]*poptest.Node, len(nodes))
	for n, j := range nodes {
		all[n] = j.Node
	}
	poptest.Pass(d, all...)
}

// TestAdminCluster checks whole answers: without a ring, before the first flush, when all is well,
// when a server is lost, and when statistics are missing.
func TestAdminCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		compareGolden(t, "cluster_none",
			newNode(t, admin.Options{Local: true, PoP: "lhr"}).ask("GET", "/v1/cluster", ""))
		j := newJoined(t, "a", ringtest.NewMeasured(), poptest.Rule(10, time.Minute))
		compareGolden(t, "cluster_new", j.ask("GET", "/v1/cluster", ""))
		b := newJoined(t, "b", j.tally, poptest.Rule(10, time.Minute))
		pass(5*time.Second, j, b)
		j.last, j.bad = 1500*time.Microsecond, 12
		compareGolden(t, "cluster", j.ask("GET", "/v1/cluster", ""))
		j.last = 0
		j.tally.SetDown(1, true)
		pass(time.Second, j, b)
		compareGolden(t, "cluster_lost", j.ask("GET", "/v1/cluster", ""))
	})
}

// TestClusterWithoutStatistics: a Tally without statistics is shown with the facts known without
// them.
func TestClusterWithoutStatistics(t *testing.T) {
	t.Parallel()
	p := poptest.NewTogether(t, 1, ringtest.NewMemory(2), poptest.Rule(10, time.Minute))
	p.After(time.Second)
	s := p.Nodes[0].Flusher.Stats(p.Now)
	if len(s.Servers) != 2 || s.Servers[1].Address != "127.0.0.1:20001" || !s.Servers[1].Up ||
		s.Servers[1].Ops != 0 {
		t.Errorf("%+v", s.Servers)
	}
}

// TestClusterView: the node's view follows its servers and its clock.
func TestClusterView(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newJoined(t, "a", ringtest.NewMeasured(), poptest.Rule(10, time.Minute))
		check := func(when, view, clock string, offset float64, nodes int, lost bool) {
			t.Helper()
			v := askFor[api.ClusterView](t, a.node, "/v1/cluster")
			r := v.Ring
			skew := 0.0
			if clock == "apart" {
				skew = offset
			}
			if v.View != view || r.Clock.State != clock || r.Clock.SkewSeconds != skew ||
				math.Abs(r.Clock.OffsetSeconds-offset) > 0.1 || // the kit flushes every 0.1 s
				r.Nodes != nodes || r.Servers[0].Lost != lost || r.Servers[1].Lost != lost {
				t.Errorf("%s: view %s, %+v", when, v.View, r)
			}
		}
		check("at start", "node", "comparing", 0, 1, false)
		others := []*joined{newJoined(t, "b", a.tally), newJoined(t, "c", a.tally)}
		pass(5*time.Second, others...)
		a.Ahead = 75 * time.Second
		pass(10*time.Second, append(others, a)...)
		check("75 s ahead", "node", "apart", 75, 1, false)
		a.Ahead = -75 * time.Second
		pass(10*time.Second, append(others, a)...)
		check("75 s behind", "node", "apart", -75, 1, false)
		a.Ahead = -45 * time.Second
		pass(10*time.Second, append(others, a)...)
		check("45 s behind", "pop", "agreed", -45, 3, false)
		a.Ahead = 0
		pass(20*time.Second, append(others, a)...)
		check("put right", "pop", "agreed", 0, 3, false)
		a.tally.SetAllDown(true)
		pass(time.Second, append(others, a)...)
		check("without servers", "node", "agreed", 0, 1, true)
	})
}
