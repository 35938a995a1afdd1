package edge_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// tenants is a table of keys with numbers of their own, and rules by the table.
type tenants struct {
	*testing.T
	dir     string
	numbers map[string]int
	passed  map[string]int
	full    map[string]bool // keys denied by their present number
}

const tenantRules = `memory: 128MiB
state_dir: %[1]s/state
listen: {admin: "127.0.0.1:0"}
sets:
  tenants: {table_file: %[1]s/tenants.csv}
  bursts: {table: {b-1: 60 burst=50, b-2: "7", b-3: 4 burst=3}}
rules:
  - {name: api, limit: 5, window: 1h, numbers: "@tenants"}
policies:
  - name: web
    match: {path: /x}
    key: header.x-api-key | client
    limit: 5
    window: 1h
    numbers: {of: header.x-api-key, table: "@tenants"}
  - name: tokens
    match: {path: /tokens}
    key: header.x-api-key
    limit: 5
    window: 24h
    burst: 5
    numbers: {of: header.x-api-key, table: "@bursts"}
  - name: plans
    match: {path: "/plans/**"}
    key: header.x-plan
    limit: {free: 4, gold: 40}
    window: 1h
    tiers: {of: header.x-plan, table: "@tenants", default: free}
`

// write writes the table: KEY,NUMBER by line.
func (s *tenants) write() {
	s.Helper()
	var text strings.Builder
	for key, n := range s.numbers {
		fmt.Fprintf(&text, "%s,%d\n", key, n)
	}
	name := filepath.Join(s.dir, "tenants.csv")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		s.Fatal(err)
	}
}

// number returns the number of key under the rule.
func (s *tenants) number(rule, key string) int {
	if rule == "tokens" {
		return map[string]int{"b-1": 50, "b-2": 5, "b-3": 3, "b-4": 5}[key]
	}
	if n, ok := s.numbers[key]; ok {
		return n
	}
	return map[string]int{"api": 5, "web": 5, "plans": 4}[rule]
}

// ask asks for key under the rule and holds the answer to an exact log.
func (s *tenants) ask(n *edge.Node, rule, key string) {
	s.Helper()
	var a client.Answer
	var err error
	switch rule {
	case "api":
		a, err = n.Check(s.Context(), rule, key, 1)
	case "web", "tokens":
		a, err = n.Ask(s.Context(), client.Request{
			Path:    map[string]string{"web": "/x", "tokens": "/tokens"}[rule],
			Client:  netip.MustParseAddr("192.0.2.1"),
			Headers: map[string][]string{"X-Api-Key": {key}},
		})
	default:
		a, err = n.Ask(s.Context(), client.Request{
			Path: "/plans/x", Client: netip.MustParseAddr("192.0.2.1"),
			Headers: map[string][]string{"X-Plan": {key}},
		})
	}
	if err != nil {
		s.Fatal(err)
	}
	at, limit := rule+" "+key, s.number(rule, key)
	if fits := s.passed[at] < limit; a.Allowed() != fits {
		s.Fatalf("%s: %v with %d of %d passed: %+v", at, a.Allowed(), s.passed[at], limit, a)
	}
	if a.Allowed() {
		s.passed[at]++
	} else {
		s.full[at] = s.passed[at] < 2*limit // by the present number
	}
}

// TestNumbersOfTenants: 3,000 tenants with 900 numbers by a rule, a policy and tiers, each held to
// the right number over reloads and a restart.
func TestNumbersOfTenants(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	s := &tenants{t, t.TempDir(), map[string]int{}, map[string]int{}, map[string]bool{}}
	for i := range 3000 {
		s.numbers[fmt.Sprintf("k-%d", i)] = 1 + (i*i)%900
	}
	s.write()
	config := filepath.Join(s.dir, "headgate.yaml")
	text := fmt.Sprintf(tenantRules, s.dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(31, 2))
	n, stop := startNode(t, config)
	for round := range 6 {
		for range 20_000 {
			// few keys often, so that many come to their limits; some without a number
			key := fmt.Sprintf("k-%d", int(3100*rng.Float64()*rng.Float64()*rng.Float64()))
			s.ask(n, []string{"api", "web", "plans"}[rng.IntN(3)], key)
		}
		for range 500 {
			s.numbers[fmt.Sprintf("k-%d", rng.IntN(3000))] = 1 + rng.IntN(900)
		}
		clear(s.full)
		if round == 1 { // a number that goes, and a key that comes
			delete(s.numbers, "k-7")
			s.numbers["k-3050"] = 77
		}
		s.write()
		if _, err := n.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		s.ask(n, "web", fmt.Sprintf("k-%d", i%300))
	}
	for i := range 240 {
		s.ask(n, "tokens", fmt.Sprintf("b-%d", 1+i%4))
	}
	stop()
	n, stop = startNode(t, config)
	defer stop()
	full := 0
	for at, is := range s.full {
		if rule, key, _ := strings.Cut(at, " "); is {
			full++
			s.ask(n, rule, key)
		}
	}
	if full < 20 {
		t.Errorf("%d keys were at their limits at the stop", full)
	}
}

// startNode runs a node by the file config until stop is called.
func startNode(t *testing.T, config string) (n *edge.Node, stop func()) {
	t.Helper()
	n, err := edge.New(t.Context(), edge.Options{File: config, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return n, doortest.Serve(t, n.Run)
}
