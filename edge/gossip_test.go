package edge

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// startWorld runs a node that gossips on loopback until the test ends, and joins seeds
// ("host:port").
func startWorld(t *testing.T, name, pop string, seeds ...string) *Node {
	t.Helper()
	cfg := config.Default()
	cfg.Node, cfg.PoP, cfg.Memory = name, pop, 1<<20
	cfg.Rules = []mitigation.Rule{{
		Name: "r", Limit: 10_000, Window: time.Second,
		Scope: mitigation.Global,
	}}
	cfg.Gossip.Bind = config.Address{Host: "127.0.0.1"}
	// published only: nothing listens there
	cfg.Listen.Admin = []config.Address{{Host: "127.0.0.1", Port: 4292}, {Port: 4392}}
	for _, seed := range seeds {
		at, err := config.ParseAddress(seed)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Gossip.Join = append(cfg.Gossip.Join, at)
	}
	d := &Node{log: slog.New(slog.DiscardHandler)}
	p := prepared{cfg: cfg}
	link := newLink(p, name, "v1", d.log, nil)
	d.gate = gate.New(GateOptions(&cfg, name, time.Now(), link.Hooks()))
	if err := d.openGossip(link); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.link.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return d
}

// TestWorldIsShown joins two nodes and checks how each shows the other: in figures, of a key, and
// how many series of metrics that makes.
func TestWorldIsShown(t *testing.T) {
	a := startWorld(t, "a", "lhr")
	b := startWorld(t, "b", "cdg", a.link.Addr().String())
	edgetest.Await(t, "they hear each other", edgetest.Patience, func() bool {
		return len(a.link.View().PoPs) == 2 && len(b.link.View().PoPs) == 2
	})
	s := b.link.View()
	if len(s.Members) != 2 || s.Members[0].Name != "a" || s.Members[0].PoP != "lhr" ||
		s.Members[0].Self || !s.Members[1].Self ||
		s.Members[0].State != "alive" || s.Members[0].Rules == "" || s.Members[0].Wire == 0 {
		t.Errorf("members %+v", s.Members)
	}
	if at := s.Members[0].Dashboard; at != "http://127.0.0.1:4392/" {
		t.Errorf("dashboard of the other node: %q", at)
	}
	if s.Mismatches != (api.Mismatches{}) || s.Joins == 0 || s.Bytes.In == 0 || s.Bytes.Out == 0 ||
		s.Packets.Out == 0 {
		t.Errorf("%+v", s)
	}
	for _, kind := range []string{"ask", "demand", "view", "advice"} {
		if _, ok := s.Records[kind]; !ok {
			t.Errorf("no records of kind %s in %v", kind, s.Records)
		}
	}
	if _, ok := s.Rejected["replay"]; !ok || len(s.Dropped) == 0 ||
		len(s.GossipStats.Lag.Buckets) == 0 {
		t.Errorf("rejected %v, dropped %v, lag %v", s.Rejected, s.Dropped, s.Lag)
	}
	standing := func() control.Standing { return b.link.Standing(b.gate.Now(), "r", []byte("k")) }
	// a batch after a is seen
	edgetest.Await(t, "b gives a its part", edgetest.Patience,
		func() bool { return standing().Standby != "" })
	if key := standing(); key.Owner == "" || key.Owner == key.Standby ||
		key.Reporter != "b" || key.Viewed != 0 {
		t.Errorf("%+v", key)
	}
	checkWorldSeries(t, b)
}

// checkWorldSeries checks that there are no more series than the metrics promise.
func checkWorldSeries(t *testing.T, d *Node) {
	t.Helper()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "127.0.0.1:4292"
	w := httptest.NewRecorder()
	reg := prometheus.NewRegistry()
	metrics.Register(reg, metrics.Sources{Gate: d.gate, Gossip: d.link.View})
	admin.New(d.gate, admin.Options{Local: true, Log: d.log, Registry: reg}).ServeHTTP(w, r)
	series := 0
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "headgate_gossip_") ||
			strings.HasPrefix(line, "headgate_control_") {
			series++
		}
	}
	if series < 60 || series > 90 {
		t.Errorf("%d series: %s", series, w.Body)
	}
}

// TestReachableAdmin checks which admin listener other members are given.
func TestReachableAdmin(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]config.Address{
		"": {
			{Host: "127.0.0.1", Port: 1},
			{Host: "localhost", Port: 2},
			{Path: "/run/admin.sock"},
			{Host: "192.0.2.1"},
			{Host: strings.Repeat("x", 64), Port: 3},
		},
		":4292":          {{Host: "::1", Port: 1}, {Port: 4292}},
		"192.0.2.1:4292": {{Host: "192.0.2.1", Port: 4292}, {Port: 4293}},
	} {
		if got := reachableAdmin(all); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}
