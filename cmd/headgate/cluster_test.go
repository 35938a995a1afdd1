package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
)

// clusters are answers to GET /v1/cluster.
func clusters() []api.ClusterView {
	age, long := 0.08, 95.0
	well := api.RingServerView{
		Address: "192.0.2.1:11211", Weight: 1, Up: true, Protocol: "meta", Operations: 123456,
		Errors: map[string]uint64{"late": 2}, LastSuccessAge: &age,
	}
	down, lost, never := well, well, well
	down.Address, down.Up, down.Errors, down.Timeouts = "/run/mc.sock", false,
		map[string]uint64{"timeout": 40, "down": 2}, 1
	lost.Address, lost.Up, lost.Lost, lost.Protocol, lost.BreakerOpened,
		lost.LastSuccessAge = "mc3:11211", false, true, "classic", 7, &long
	lost.LastError = "ring: mc3:11211: \x1b[2J reset"
	never.Address, never.Weight, never.Up, never.Protocol, never.Operations,
		never.LastSuccessAge = "mc4:11211", 20, false, "", 0, nil
	ring := api.RingView{
		Fingerprint: "e295df82977d1417", Flush: 0.1, Nodes: 4,
		Clock:   api.ClockView{State: "agreed"},
		Flushes: 1234, LastFlushSeconds: 0.0012, Servers: []api.RingServerView{well},
	}
	apart, behind, comparing, corrected := ring, ring, ring, ring
	apart.Clock, apart.Nodes = api.ClockView{State: "apart", SkewSeconds: 45}, 1
	apart.Servers = []api.RingServerView{well, down, lost, never}
	apart.Failed, apart.Implausible, apart.DroppedCost, apart.Deferred = 11, 12, 13, 14
	behind.Clock, behind.Deferred = api.ClockView{State: "apart", SkewSeconds: -45}, 1
	comparing.Clock.State = "comparing"
	corrected.Clock.OffsetSeconds = -0.312
	return []api.ClusterView{
		{Node: "edge-1", PoP: "lhr", View: "pop", Ring: &ring},
		{Node: "edge-1", PoP: "local", View: "node"},
		{Node: "edge-1\x1b[2J", PoP: "lhr", View: "node", Ring: &apart},
		{Node: "edge-1", PoP: "lhr", View: "node", Ring: &behind},
		{Node: "edge-1", PoP: "lhr", View: "node", Ring: &comparing},
		{Node: "edge-1", PoP: "lhr", View: "pop", Ring: &corrected},
		{Node: "edge-1", PoP: "lhr", View: "global", Ring: &ring, Gossip: worldwideWell()},
		{Node: "edge-1", PoP: "lhr", View: "node", Gossip: worldwideIll()},
		{Node: "edge-1", PoP: "lhr", View: "global", Gossip: &api.GossipView{Connected: true}},
		{Node: "edge-1", PoP: "lhr", View: "node", Gossip: &api.GossipView{}},
	}
}

// worldwideWell is a world in which all is well.
func worldwideWell() *api.GossipView {
	within := 0.25
	g := &api.GossipView{
		Connected: true,
		Lag:       api.LagView{Count: 40, Mean: 0.0423, P50: &within, P99: &within},
	}
	g.Members = []api.Member{
		{
			Name: "cdg-1", PoP: "cdg", Address: "192.0.2.9:4293", State: "alive",
			Since: clitest.Noon.Add(
				-95 * time.Second,
			), Version: "v1.2.0", Wire: 1, Rules: "77aa", Limits: true,
		},
		{
			Name: "edge-1", PoP: "lhr", Address: "192.0.2.1:4293", State: "alive",
			Since: clitest.Noon.Add(
				-26 * time.Hour,
			), Version: "v1.2.0", Wire: 1, Ring: "e295", Limits: true,
			Rules: "77aa", Self: true,
		},
	}
	g.PoPs = []api.PoPMembers{{PoP: "cdg", Alive: 1}, {PoP: "lhr", Alive: 1, Left: 1}}
	g.Bytes, g.Packets = api.Flow{In: 999, Out: 1_234_567}, api.Flow{In: 3, Out: 4321}
	g.Keys = api.ControlKeys{Measured: 12, Reported: 5, Owned: 7}
	// before the other node started: over by now
	g.JoinErrors, g.JoinError = 1, "join 192.0.2.9:4293: connection refused\n\n"
	return g
}

// worldwideIll is one in which nothing is.
func worldwideIll() *api.GossipView {
	g := worldwideWell()
	g.Connected, g.Lost, g.Lag.P99 = false, true, nil
	g.Members = append(g.Members,
		api.Member{
			Name: "edge-2", PoP: "lhr", Address: "192.0.2.2:4293", State: "alive",
			Since: clitest.Noon, Version: "\x1b[2J", Wire: 2, Ring: "0000",
			Rules: "88bb", Ahead: 61.5,
		},
		api.Member{
			Name: "edge-3", PoP: "lhr", Address: "192.0.2.3:4293", State: "dead",
			Since: clitest.Noon.Add(-time.Hour), Wire: 2, Rules: "88bb",
		},
		api.Member{
			Name: "edge-4", PoP: "lhr", Address: "192.0.2.4:4293", State: "left",
			Since: clitest.Noon.Add(-time.Hour),
		})
	g.PoPs[1] = api.PoPMembers{PoP: "lhr", Alive: 2, Dead: 1, Left: 1}
	g.Mismatches = api.Mismatches{Ring: 1, Rules: 2, Wire: 3, Clock: 1}
	g.Keys.Shed, g.Keys.Guarded, g.Deferred, g.Full, g.JoinErrors,
		g.Conflicts = 2, 1, 13, 14, 15, 16
	g.Rejected = map[string]uint64{"replay": 2, "malformed": 1, "quota": 0}
	g.Dropped = map[string]uint64{"key": 9, "oversize": 0}
	g.JoinError, g.Bytes.In = "join 192.0.2.9:4293: \x1b[2J refused", 1_000_000
	return g
}

func TestClusterGolden(t *testing.T) {
	b := newBench(t)
	var session strings.Builder
	for n, view := range clusters() {
		b.admin.peers = view
		session.WriteString(b.session("cluster"))
		if n < 2 || n == 5 {
			session.WriteString(b.session("cluster --json"))
		}
	}
	session.WriteString(b.session("cluster --admin 127.0.0.1:1"))
	session.WriteString(b.session("cluster now"))
	clitest.CompareGolden(t, filepath.Join("testdata", "cluster.golden"), session.String())
}
