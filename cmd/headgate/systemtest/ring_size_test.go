//go:build soak && !race

package systemtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	hg "github.com/headgate-dev/headgate/edge/client"
)

// sizeRules differ in their cost to memcached: the counters of the first are only written, those of
// the second read as well.
const sizeRules = `rules:
  - {name: busy, limit: 1000, window: 10s, scope: pop}
  - {name: few, limit: 5, window: 1m, scope: pop}
`

const (
	sizeKeys   = 1000
	sizeSettle = 25 // seconds until as many counters die as are born
	sizeTime   = 10 // seconds that are measured
)

// TestRingSoakSizing logs the memory that a thousand keys of one node take in memcached. The
// documented sizing is from its log.
func TestRingSoakSizing(t *testing.T) {
	server := startRingServer(t)
	node := startNode(t, "edge", addressesOf([]*ringServer{server}), sizeRules)
	joined(t, []*ringNode{node}, "busy")
	// the daemon's own counters settle only after minutes, and are listed by themselves
	hold(t, sizeSettle*time.Second)
	idle := node.exchanges(sizeTime)
	t.Logf("no key: %.0f exchanges/s", idle)

	load := startLoad(t, []*ringNode{node},
		&stream{name: "busy", rule: "busy", keys: sizeKeys, rate: 10})
	hold(t, sizeSettle*time.Second)
	t.Logf("%d keys of a window of 10 s, each asked for every flush: %.0f exchanges/s more; %s",
		sizeKeys, node.exchanges(sizeTime)-idle, server.holds())
	load.stop()
	hold(t, 12*time.Second)

	client := node.client()
	for k := range sizeKeys {
		if _, err := client.Batch(t.Context(),
			[]hg.Query{{Rule: "few", Key: fmt.Sprintf("few-%d", k)}}); err != nil {
			t.Fatal(err)
		}
	}
	hold(t, 2*time.Second)
	looks := node.exchanges(sizeTime) - idle
	t.Logf("%d keys of a limit of 5, each asked for once in its window: %.0f exchanges/s more",
		sizeKeys, looks)
	if looks < sizeKeys || looks > 11*sizeKeys {
		t.Errorf("%.0f exchanges/s: docs/pop.md says one a flush", looks)
	}
}

// exchanges returns how many operations a second went well, over so many seconds.
func (n *ringNode) exchanges(seconds int) float64 {
	count := func() (sum float64) {
		for name, value := range n.metrics("headgate_ring_operations_total") {
			if strings.Contains(name, `"ok"`) {
				sum += value
			}
		}
		return sum
	}
	before := count()
	hold(n, time.Duration(seconds)*time.Second)
	return (count() - before) / float64(seconds)
}

// holds describes the contents of a memcached.
func (s *ringServer) holds() string {
	stats := map[string]int{}
	for line := range strings.Lines(tellMemcached(s, s.port, "stats")) {
		if f := strings.Fields(line); len(f) == 3 {
			stats[f[1]], _ = strconv.Atoi(f[2])
		}
	}
	return fmt.Sprintf("curr_items %d, bytes %d, %d an item, evictions %d; %s",
		stats["curr_items"], stats["bytes"], stats["bytes"]/max(1, stats["curr_items"]),
		stats["evictions"], s.chunks())
}

// chunks lists the sizes of the chunks in which a memcached keeps its items.
func (s *ringServer) chunks() string {
	var all []string
	for line := range strings.Lines(tellMemcached(s, s.port, "stats slabs")) {
		if strings.Contains(line, ":chunk_size ") || strings.Contains(line, ":used_chunks ") {
			all = append(all, strings.TrimSpace(strings.TrimPrefix(line, "STAT ")))
		}
	}
	return strings.Join(all, ", ")
}
