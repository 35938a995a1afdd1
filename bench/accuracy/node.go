package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// the daemon's own interval
const sweepEvery = 100 * time.Millisecond // of the traffic's time

// ruleName is the one rule that everything runs under.
const ruleName = "accuracy"

// node is one edge with one rule, driven at the traffic's time.
type node struct {
	edge  *gate.Gate
	lane  *gate.Lane
	ask   gate.Ask
	swept window.Instant
}

// newNode returns a node in memory bytes whose rule allows limit requests per ruleWindow and sheds,
// from start on. Nothing runs beside it: sweep does the background work. A rule of scope node, and
// nothing to share: what is measured is counting.
func newNode(memory, limit int64, start window.Instant) (*node, error) {
	cfg := config.Default()
	cfg.Node, cfg.Memory = "accuracy", memory
	cfg.Rules = []mitigation.Rule{{Name: ruleName, Limit: limit, Window: ruleWindow}}
	e, err := edge.NewGate(cfg, start.Time())
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	q := gate.Ask{Op: gate.Check, Cost: 1, Rule: []byte(ruleName)}
	return &node{edge: e, lane: e.Lane(0), ask: q, swept: start}, nil
}

// refuses decides one request.
func (n *node) refuses(now window.Instant, u uint64, key []byte) bool {
	n.ask.Key = key
	d, _ := n.lane.Decide(now, u, n.ask) // of a rule there is
	return d.Deny
}

// offered is an upper bound by the sketch, or the exact count of a suspect: the node's estimate of
// the cost that key asked for in the trailing window.
func (n *node) offered(now window.Instant, key []byte) int64 {
	return n.edge.Offered(now, n.ask.Rule, key)
}

// settled reports whether key has been a suspect for a window, so that its exact log covers the
// window and knows more than the sketch did. The first window after a promotion rests on the sketch
// in part, which is judged apart.
func (n *node) settled(now window.Instant, key []byte) bool {
	since, ok := n.edge.SuspectSince(n.ask.Rule, key)
	return ok && now.Sub(since) >= ruleWindow
}

// sweep does the background work that is due by now.
func (n *node) sweep(now window.Instant) {
	if now.Sub(n.swept) >= sweepEvery {
		n.edge.Sweep(now)
		n.swept = now
	}
}

// resident returns the process's resident size in bytes, 0 where the system does not tell.
// Allocations that Go has not returned count as well: it is what an operator sees.
func resident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}

const mib = 1 << 20

// addresses renders the key of every source: IPv4 addresses, each another one.
// Neighbouring numbers would share their first bytes; scattered ones are like addresses of the
// whole net.
func addresses(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		scattered := uint32(i) * 2_654_435_761 // odd: a bijection of 32 bits
		keys[i] = fmt.Appendf(nil, "%d.%d.%d.%d", scattered>>24, scattered>>16&255,
			scattered>>8&255, scattered&255)
	}
	return keys
}
