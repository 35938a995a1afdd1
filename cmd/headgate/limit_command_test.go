package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/api"
)

// TestWhereALimitHolds: the answer to a limit by hand says which nodes have it.
func TestWhereALimitHolds(t *testing.T) {
	b := newBench(t)
	b.admin.HandleFunc("POST /v1/limits", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]int{"set": 1, "limit": 9})
	})
	for want, world := range map[string]*api.GossipView{
		"this node only: no gossip": nil, "all nodes": worldwideWell(),
		"not at nodes of an earlier version: see headgate cluster": worldwideIll(),
	} {
		b.admin.peers = api.ClusterView{Gossip: world}
		for _, line := range []string{
			"limit set per-ip 192.0.2.9 --limit 9 --for 7d",
			"limit import testdata/limits.csv --for 7d",
		} {
			if code, got, _ := b.run(t.Context(), strings.Fields(line)...); code != 0 ||
				!strings.HasSuffix(got, want+")\n") {
				t.Errorf("%s: exit %d, %q, want %q", line, code, got, want)
			}
		}
	}
}
