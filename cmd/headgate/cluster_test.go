package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge"
)

// clusters are what daemons may answer to GET /v1/cluster.
func clusters() []edge.ClusterView {
	age, long := 0.08, 95.0
	well := edge.RingServerView{
		Address: "192.0.2.1:11211", Weight: 1, Up: true, Protocol: "meta", Operations: 123456,
		Errors: map[string]uint64{"late": 2}, LastSuccessAge: &age,
	}
	down, lost, never := well, well, well
	down.Address, down.Up, down.Errors, down.Timeouts = "/run/mc.sock", false, map[string]uint64{"timeout": 40, "down": 2}, 1
	lost.Address, lost.Up, lost.Lost, lost.Protocol, lost.BreakerOpened, lost.LastSuccessAge = "mc3:11211", false, true, "classic", 7, &long
	lost.LastError = "ring: mc3:11211: \x1b[2J reset"
	never.Address, never.Weight, never.Up, never.Protocol, never.Operations, never.LastSuccessAge = "mc4:11211", 20, false, "", 0, nil
	ring := edge.RingView{
		Fingerprint: "e295df82977d1417", Flush: 0.1, Nodes: 4, Clock: edge.ClockView{State: "agreed"},
		Flushes: 1234, LastFlushSeconds: 0.0012, Servers: []edge.RingServerView{well},
	}
	apart, behind, comparing := ring, ring, ring
	apart.Clock, apart.Nodes = edge.ClockView{State: "apart", SkewSeconds: 45}, 1
	apart.Servers = []edge.RingServerView{well, down, lost, never}
	apart.Failed, apart.Implausible, apart.DroppedCost, apart.Deferred = 11, 12, 13, 14
	behind.Clock, behind.Deferred = edge.ClockView{State: "apart", SkewSeconds: -45}, 1
	comparing.Clock.State = "comparing"
	return []edge.ClusterView{
		{Node: "edge-1", PoP: "lhr", View: "pop", Ring: &ring},
		{Node: "edge-1", PoP: "local", View: "node"},
		{Node: "edge-1\x1b[2J", PoP: "lhr", View: "node", Ring: &apart},
		{Node: "edge-1", PoP: "lhr", View: "node", Ring: &behind},
		{Node: "edge-1", PoP: "lhr", View: "node", Ring: &comparing},
	}
}

func TestClusterGolden(t *testing.T) {
	b := newBench(t)
	var session strings.Builder
	for n, view := range clusters() {
		b.admin.peers = view
		session.WriteString(b.session("cluster"))
		if n < 2 {
			session.WriteString(b.session("cluster --json"))
		}
	}
	session.WriteString(b.session("cluster --admin 127.0.0.1:1"))
	session.WriteString(b.session("cluster now"))
	compareGolden(t, filepath.Join("testdata", "cluster.golden"), session.String())
}
