package metrics_test

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/window"
)

// askQueue asks five times: one request passes, three wait 1, 2 and 3 s, one is denied.
func askQueue(t *testing.T, g *gate.Gate, now window.Instant) {
	t.Helper()
	for range 5 {
		q := gatetest.Ask(gate.Check, "queue", "203.0.113.7", 1)
		q.Wait = true
		if _, err := g.Lane(0).Decide(now, 0, q); err != nil {
			t.Fatal(err)
		}
	}
}

// denyByLoad has room deny a request of tier test, whose pool is at level 1.
func denyByLoad(t *testing.T, g *gate.Gate, room *ask.Room, now window.Instant) {
	t.Helper()
	for n := range 2 { // level 1: all of test
		if err := room.Load(now, []byte("workers"), []byte("w"), 950_000); err != nil {
			t.Fatal(err)
		}
		room.Turn(now.Add(time.Duration(n+1) * time.Second))
	}
	s := room.NewSession()
	s.Begin()
	s.Request.Method, s.Request.Tier = []byte("GET"), []byte("test")
	s.Request.SetTarget([]byte("/"), s.Clients())
	s.FindClient(netip.MustParseAddr("203.0.113.7"))
	b := g.Lane(0).Batch(now, rand.Uint64)
	if d := s.Decide(&b, now, 1); !d.Deny || d.Why != ask.ByLoad {
		t.Fatalf("%+v", d)
	}
	b.End()
}

// TestMetricsOfKinds checks the samples of buckets, queues, places and pools, and that their labels
// are bounded by the configuration.
func TestMetricsOfKinds(t *testing.T) {
	t.Parallel()
	g, room := gatetest.Policies(t, 1<<20, `
pools: [{name: workers, order: [test, normal], up: 50%}]
rules:
  - {name: api, limit: 10, window: 1m, burst: 20}
  - {name: queue, limit: 1, window: 1s, burst: 1, delay: 3s}
  - {name: jobs, kind: concurrency, limit: 3}
  - {name: win, limit: 3, window: 10s}
policies: [{name: site, match: {}, pool: workers}]
`)
	a, now := newCheckedNode(metrics.Sources{Gate: g, Ask: room}), g.Now()
	askQueue(t, g, now)
	gatetest.Decide(g, now, gate.Acquire, "jobs", "203.0.113.7", 2)
	denyByLoad(t, g, room, now)
	got := strings.Join(a.scrape(t), "\n") + "\n"
	for _, want := range []string{
		`headgate_rule_burst{rule="api"} 20`, `headgate_rule_delay_seconds{rule="queue"} 3`,
		`headgate_delayed_requests_total{rule="queue"} 3`,
		`headgate_delays_seconds_total{rule="queue"} 6`,
		`headgate_places_taken{rule="jobs"} 2`, `headgate_pool_level{pool="workers"} 1`,
		`headgate_pool_denials_total{pool="workers"} 1`,
		`headgate_pool_shed_ratio{pool="workers",tier="test"} 1`,
		`headgate_pool_shed_ratio{pool="workers",tier="normal"} 0`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for _, not := range []string{
		`headgate_rule_burst{rule="win"}`,
		`headgate_rule_delay_seconds{rule="api"}`, `headgate_rule_window_seconds{rule="jobs"}`,
		"203.0.113.7",
	} {
		if strings.Contains(got, not) {
			t.Errorf("there is %s", not)
		}
	}
	if _, err := a.reg.Gather(); err != nil {
		t.Error(err)
	}
}
