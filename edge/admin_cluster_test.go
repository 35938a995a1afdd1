package edge

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
)

// telling is memory that keeps statistics, as a ring does.
type telling struct {
	*memory
	stats []ring.ServerStats
}

func (t *telling) Stats() []ring.ServerStats { return t.stats }

// joined is a node of a PoP in a bubble of time, and its door.
type joined struct {
	*Admin
	tally *telling
	pop   *PoP
	wrong time.Duration // how far the node's wall clock is ahead
	reg   *prometheus.Registry
}

// newJoined returns a node with a ring of two servers. All of one PoP share a tally.
func newJoined(t *testing.T, name string, tally *telling, rules ...mitigation.Rule) *joined {
	t.Helper()
	cfg := config.Default()
	cfg.Node, cfg.Memory, cfg.Rules, cfg.Ring.Flush = name, 1<<20, rules, testEvery
	servers := []ring.Server{{Host: "192.0.2.1", Port: 11211, Weight: 1}, {Path: "/run/mc.sock", Weight: 3}}
	for _, s := range servers {
		cfg.Ring.Servers = append(cfg.Ring.Servers, config.Server{Address: config.Address{Host: s.Host, Port: s.Port, Path: s.Path}, Weight: s.Weight})
	}
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	j := &joined{tally: tally, reg: prometheus.NewPedanticRegistry()}
	j.pop = e.Join(PoPOptions{Tally: tally, Placement: placement, Secret: []byte("s"), Every: testEvery})
	j.Admin = NewAdmin(e, AdminOptions{Local: true, PoP: "lhr", Registry: j.reg, Log: slog.New(slog.DiscardHandler)})
	return j
}

// pass lets time pass with all nodes flushing.
func pass(d time.Duration, nodes ...*joined) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(testEvery)
		for _, j := range nodes {
			now := j.edge.Now()
			j.pop.Flush(context.Background(), now, time.Now().Add(j.wrong))
			j.edge.reach.judge(now)
		}
	}
}

// newTelling returns two servers of which there is something to tell.
func newTelling() *telling {
	t := &telling{memory: newMemory(2), stats: []ring.ServerStats{
		{Address: "192.0.2.1:11211", Up: true, Protocol: "meta", Ops: 100, LastSuccess: time.Now()},
		{Address: "/run/mc.sock", Ops: 50, Timeouts: 3, Opened: 2, LastError: "ring: /run/mc.sock: connect: refused"},
	}}
	t.stats[1].Errors[ring.KindTimeout], t.stats[1].Errors[ring.KindDown] = 7, 40
	return t
}

// TestAdminCluster checks whole answers: without a ring, before the first flush, when all is well, when a server is lost,
// and when it told nothing.
func TestAdminCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		compareAdmin(t, "cluster_none", newTestAdmin(t, AdminOptions{Local: true, PoP: "lhr"}).ask("GET", "/v1/cluster", ""))
		j := newJoined(t, "a", newTelling(), popRule(10, time.Minute))
		compareAdmin(t, "cluster_new", j.ask("GET", "/v1/cluster", ""))
		b := newJoined(t, "b", j.tally, popRule(10, time.Minute))
		pass(5*time.Second, j, b)
		j.pop.last.Store(int64(1500 * time.Microsecond))
		j.pop.failed.Store(11)
		j.pop.lied.Store(12)
		compareAdmin(t, "cluster", j.ask("GET", "/v1/cluster", ""))
		j.tally.down[1] = true
		pass(time.Second, j, b)
		compareAdmin(t, "cluster_lost", j.ask("GET", "/v1/cluster", ""))
		checkAdminProblem(t, j.ask("GET", "/v1/cluster?x=1", ""), http.StatusBadRequest, "x")
	})
}

// TestClusterWithoutStatistics: a Tally that tells nothing of its servers is shown with what is known all the same.
func TestClusterWithoutStatistics(t *testing.T) {
	t.Parallel()
	p := newTogether(t, 1, newMemory(2), popRule(10, time.Minute))
	p.after(time.Second)
	s := p.pops[0].Stats(p.now)
	if len(s.Servers) != 2 || s.Servers[1].Address != "127.0.0.1:20001" || !s.Servers[1].Up || s.Servers[1].Ops != 0 {
		t.Errorf("%+v", s.Servers)
	}
}

// TestClusterView: the node's view follows its servers and its clock.
func TestClusterView(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newJoined(t, "a", newTelling(), popRule(10, time.Minute))
		check := func(when, view, clock string, skew float64, nodes int, lost bool) {
			t.Helper()
			v := askFor[ClusterView](t, a.Admin, "/v1/cluster")
			r := v.Ring
			if v.View != view || r.Clock != (ClockView{clock, skew}) || r.Nodes != nodes || r.Servers[0].Lost != lost || r.Servers[1].Lost != lost {
				t.Errorf("%s: view %s, %+v", when, v.View, r)
			}
		}
		check("at start", "node", "comparing", 0, 1, false)
		others := []*joined{newJoined(t, "b", a.tally), newJoined(t, "c", a.tally)}
		pass(5*time.Second, others...)
		a.wrong = 45 * time.Second
		pass(10*time.Second, append(others, a)...)
		check("45 s ahead", "node", "apart", 45, 1, false)
		a.wrong = -45 * time.Second
		pass(10*time.Second, append(others, a)...)
		check("45 s behind", "node", "apart", -45, 1, false)
		a.wrong = 0
		pass(20*time.Second, append(others, a)...)
		check("put right", "pop", "agreed", 0, 3, false)
		a.tally.down[0], a.tally.down[1] = true, true
		pass(time.Second, append(others, a)...)
		check("without servers", "node", "agreed", 0, 1, true)
	})
}
