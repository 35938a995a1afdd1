package main

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
)

// startWorld runs a node that gossips on loopback until the test ends, and joins seeds ("host:port").
func startWorld(t *testing.T, name, pop string, seeds ...string) *daemon {
	t.Helper()
	cfg := config.Default()
	cfg.Node, cfg.PoP, cfg.Memory = name, pop, 1<<20
	cfg.Rules = []mitigation.Rule{{Name: "r", Limit: 10_000, Window: time.Second, Scope: mitigation.Global}}
	cfg.Gossip.Bind = config.Address{Host: "127.0.0.1"}
	for _, seed := range seeds {
		at, err := config.ParseAddress(seed)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Gossip.Join = append(cfg.Gossip.Join, at)
	}
	d := &daemon{log: slog.New(slog.DiscardHandler)}
	var err error
	if d.edge, err = edge.New(cfg, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := d.openGossip(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.world.run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return d
}

// TestWorldIsShown joins two nodes and checks what each shows of the other: in figures, of a key, and how many series of
// metrics that makes.
func TestWorldIsShown(t *testing.T) {
	a := startWorld(t, "a", "lhr")
	b := startWorld(t, "b", "cdg", a.world.node.Addr().String())
	awaitRing(t, "they hear each other", ringPatience, func() bool {
		return len(a.world.stats().PoPs) == 2 && len(b.world.stats().PoPs) == 2
	})
	s := b.world.stats()
	if len(s.Members) != 2 || s.Members[0].Name != "a" || s.Members[0].PoP != "lhr" || s.Members[0].Self || !s.Members[1].Self ||
		s.Members[0].State != "alive" || s.Members[0].Rules == "" || s.Members[0].Wire == 0 {
		t.Errorf("members %+v", s.Members)
	}
	if s.Mismatches != (edge.WorldMismatches{}) || s.Joins == 0 || s.Bytes.In == 0 || s.Bytes.Out == 0 || s.Packets.Out == 0 {
		t.Errorf("%+v", s)
	}
	for _, kind := range []string{"ask", "demand", "view", "advice", "notice"} {
		if _, ok := s.Records[kind]; !ok {
			t.Errorf("no records of kind %s in %v", kind, s.Records)
		}
	}
	if _, ok := s.Rejected["replay"]; !ok || len(s.Dropped) == 0 || len(s.Lag.Buckets) == 0 {
		t.Errorf("rejected %v, dropped %v, lag %v", s.Rejected, s.Dropped, s.Lag)
	}
	key := b.world.standing(b.edge.Now(), "r", []byte("k"))
	if key.Owner == "" || key.Standby == "" || key.Owner == key.Standby || key.Reporter != "b" || key.Viewed != 0 {
		t.Errorf("%+v", key)
	}
	checkWorldSeries(t, b)
}

// checkWorldSeries checks that there are no more series than the metrics promise.
func checkWorldSeries(t *testing.T, d *daemon) {
	t.Helper()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "127.0.0.1:4292"
	w := httptest.NewRecorder()
	edge.NewAdmin(d.edge, edge.AdminOptions{Local: true, Log: d.log}).ServeHTTP(w, r)
	series := 0
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "headgate_gossip_") || strings.HasPrefix(line, "headgate_control_") {
			series++
		}
	}
	if series < 60 || series > 90 {
		t.Errorf("%d series: %s", series, w.Body)
	}
}
