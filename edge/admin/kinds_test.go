package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const kindsOfRules = `
pools:
  - {name: workers, order: [test, normal], up: 50%}
rules:
  - {name: api, limit: 10, window: 1m, burst: 20, delay: 5s, reserve: {critical: 20%}}
  - {name: jobs, kind: concurrency, limit: 3}
  - {name: login, limit: 3, window: 1m, action: block, block_for: [10m, 1h], counts: offered}
policies:
  - {name: site, match: {}, pool: workers}
`

// newKinds returns a door to a node with rules of every kind and a pool.
func newKinds(t testing.TB) (*node, *ask.Room) {
	t.Helper()
	return newNodeUnder(t, kindsOfRules)
}

// TestTopOfKinds: keys that hold places are listed with the others, and each is shown in the terms
// of its rule.
func TestTopOfKinds(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a, _ := newKinds(t)
	now := a.gate.Now()
	for key, n := range map[string]int{"few": 1, "all": 3, strings.Repeat("x", 50): 2} {
		for range n {
			if d := gatetest.Decide(a.gate, now, gate.Acquire, "jobs", key, 1); d.Deny {
				t.Fatalf("%s: %+v", key, d)
			}
		}
	}
	for range 16 {
		gatetest.Decide(a.gate, now, gate.Check, "api", "bucket", 1)
	}
	var got []string
	for _, k := range askFor[api.TopsView](t, a, "/v1/top?sort=used").Top {
		got = append(got, fmt.Sprintf("%s %.6s %v/%v %s cut=%v full=%v oldest=%v", k.Kind, k.Key,
			k.Admitted, k.Limit, k.State, k.Cut, k.FullAt != nil, k.Oldest != nil))
	}
	want := []string{
		"concurrency all 3/3 full cut=false full=false oldest=true",
		"bucket bucket 16/20 ok cut=false full=true oldest=false",
		"concurrency xxxxxx 2/3 ok cut=true full=false oldest=true",
		"concurrency few 1/3 ok cut=false full=false oldest=true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if top := askFor[api.TopsView](t, a, "/v1/top?rule=jobs&n=1").Top; len(top) != 1 ||
		top[0].Key != "all" {
		t.Errorf("of one rule: %+v", top)
	}
	if v := askFor[api.LeasesView](t, a, "/v1/leases?rule=jobs&n=1"); v.Keys != 3 ||
		len(v.Held) != 1 || v.Held[0].Key != "all" || v.Taken != 6 {
		t.Errorf("leases: %+v", v)
	}
}

// TestTopOfLongKey: of a key longer than a holder shows, all places are seen to be taken.
func TestTopOfLongKey(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a, _ := newKinds(t)
	for range 3 {
		gatetest.Decide(a.gate, a.gate.Now(), gate.Acquire, "jobs", strings.Repeat("y", 50), 1)
	}
	if top := askFor[api.TopsView](t, a, "/v1/top").Top; len(top) != 1 || !top[0].Cut ||
		top[0].State != "full" {
		t.Error(top)
	}
}

// TestRulesOfKinds: the settings of each kind are in /v1/rules.
func TestRulesOfKinds(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a, _ := newKinds(t)
	gatetest.Decide(a.gate, a.gate.Now(), gate.Acquire, "jobs", "k", 2)
	rules := askFor[api.RulesView](t, a, "/v1/rules").Rules
	if r := rules[0]; r.Kind != "bucket" || r.Burst != 20 || r.Delay != 5 || len(r.Reserve) != 1 ||
		r.Places != nil || r.Blocks != nil {
		t.Errorf("bucket: %+v", r)
	}
	if r := rules[1]; r.Kind != "concurrency" || r.Lease != 60 ||
		*r.Places != (api.PlacesView{Taken: 2, Keys: 1, Leases: 1}) {
		t.Errorf("places: %+v, %+v", r, r.Places)
	}
	if r := rules[2]; r.Counts != "offered" || fmt.Sprint(r.Blocks) != "[600 3600]" ||
		r.ForgetAfter != 86400 {
		t.Errorf("ladder: %+v", r)
	}
}

// TestPoolsAreShown: the level and the tiers that are denied by it; the policy names its pool.
func TestPoolsAreShown(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a, room := newKinds(t)
	now := a.gate.Now()
	if err := room.Load(now, []byte("workers"), []byte("w1"), 950_000); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		room.Turn(now.Add(time.Duration(n+1) * time.Second))
	}
	p := askFor[api.PoolsView](t, a, "/v1/pools").Pools[0]
	if p.Level != 1.5 || p.Sources != 1 || p.Heard == nil ||
		fmt.Sprint(p.Tiers) != "[{test 1} {normal 0.5}]" {
		t.Errorf("%+v", p)
	}
	if v := askFor[api.PoliciesView](t, a, "/v1/policies"); v.Policies[0].Does != "pool workers" ||
		v.Tickets != 0 {
		t.Errorf("%+v", v)
	}
}
