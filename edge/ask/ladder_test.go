package ask_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/mitigation"
)

const ladder = `
rules: []
policies:
  - name: site
    match: {}
    ladder: [{v4: 24, v6: 56, times: 4}, {v4: 16, v6: 48, times: 16}]
    limit: 5
    window: 1m
`

// An attack from every /64 of a /56 is held at the limit of the /56, and denies nothing to a
// neighbour in the same /48.
func TestAnAttackOfANetworkSparesItsNeighbours(t *testing.T) {
	h := open(t, ladder)
	passed := 0
	for n := range 2560 {
		a := h.ask("GET", "/", fmt.Sprintf("2001:db8:1:1%02x::%x", n%256, n))
		if !a.Deny {
			passed++
		}
		if n%20 == 0 { // five requests a minute are within the neighbour's limit
			h.now = h.now.Add(12 * time.Second / 20)
		}
		if n%400 == 399 {
			if a := h.ask("GET", "/", "2001:db8:1:200::1"); a.Deny {
				t.Fatalf("the neighbour is denied after %d requests: %+v", n, a.By)
			}
		}
	}
	if passed < 20 || passed > 46 { // in 77 seconds, at 20 in any 60
		t.Errorf("%d requests of the attack passed, want 20 to 46", passed)
	}
}

// One loud address is denied by its own limit and leaves its /24 alone. With a third address the
// /24 is denied at four times the limit of one.
func TestOneLoudAddressSparesItsNetwork(t *testing.T) {
	h := open(t, ladder)
	for range 100 {
		h.ask("GET", "/", "203.0.113.7")
	}
	for k := range 5 {
		if a := h.ask("GET", "/", "203.0.113.8"); a.Deny {
			t.Fatalf("request %d of the second address: %+v", k, a.By)
		}
	}
	for n := 9; n < 11; n++ {
		for range 5 {
			if a := h.ask("GET", "/", fmt.Sprintf("203.0.113.%d", n)); a.Deny {
				t.Fatalf("address %d: %+v", n, a.By)
			}
		}
	}
	a := h.ask("GET", "/", "203.0.113.99")
	if !a.Deny || a.By.Rule.Name != "site/24,56" || a.By.Why != mitigation.ByLimit {
		t.Fatalf("the 21st request of the network: %+v", a.By)
	}
	if a := h.ask("GET", "/", "203.0.114.1"); a.Deny {
		t.Errorf("another /24: %+v", a.By)
	}
	is, _ := h.gate.Inspect(h.now, 0, "site/24,56", []byte("203.0.113.0/24"), nil)
	if is.Siblings != 3 || is.Count.Used != 20 || !is.Decision.Deny {
		t.Errorf("the network: %d narrower keys, %d used, %+v", is.Siblings,
			is.Count.Used, is.Decision)
	}
	if is, _ := h.gate.Inspect(h.now, 0, "site/16,48", []byte("203.0.0.0/16"),
		nil); is.Siblings != 2 || is.Count.Used != 21 {
		t.Errorf("the /16: %d narrower keys, %d used: what the /24 denies is not to count",
			is.Siblings, is.Count.Used)
	}
}

// Where too few addresses ask, their network denies nothing, although it is above its limit.
func TestFewSiblingsDenyNothing(t *testing.T) {
	h := open(t, `
rules: []
policies:
  - {name: site, match: {}, ladder: [{v4: 24, v6: 56, times: 1}], siblings: 4, limit: 5, window: 1m, action: block, block_for: 10m}
`)
	for n := range 3 {
		for k := range 5 {
			if a := h.ask("GET", "/", fmt.Sprintf("203.0.113.%d", n)); a.Deny {
				t.Fatalf("address %d, request %d: %+v", n, k, a.By)
			}
		}
	}
	if a := h.ask("GET", "/", "203.0.113.4"); !a.Deny || a.By.Rule.Name != "site/24,56" ||
		a.By.Why != mitigation.ByLimit {
		t.Fatalf("the fourth address: %+v", a.By)
	}
	h.now = h.now.Add(2 * time.Minute)
	if a := h.ask("GET", "/", "203.0.113.4"); !a.Deny || a.By.Why != mitigation.ByBlock {
		t.Errorf("a block of the network ends with its time only: %+v", a.By)
	}
}

// A tier's ladder has the tier's limit; a login that fails counts in every level when its report
// comes.
func TestLaddersOfTiersAndReports(t *testing.T) {
	h := open(t, `
sets: {plans: {table: {gold: gold}}}
rules: []
policies:
  - name: api
    match: {path: /api}
    ladder: [{v4: 24, v6: 56, times: 2}]
    siblings: 1
    tiers: {of: query.k, table: "@plans", default: free}
    limit: {free: 1, gold: 10}
    window: 1m
  - name: login
    match: {path: /login}
    count_when: {path: /login, status: 401}
    ladder: [{v4: 24, v6: 56, times: 2}]
    siblings: 2
    limit: 2
    window: 1m
    action: block
    block_for: 10m
`)
	for n, want := range []string{"", "", "api@free/24,56"} {
		a := h.ask("GET", "/api", fmt.Sprintf("203.0.113.%d", n))
		if a.Deny != (want != "") || a.Deny && a.By.Rule.Name != want {
			t.Errorf("request %d: %+v", n, a.By)
		}
	}
	for n := range 10 {
		if a := h.ask("GET", "/api?k=gold", fmt.Sprintf("203.0.113.%d", n)); a.Deny {
			t.Errorf("gold, request %d: %+v", n, a.By)
		}
	}
	for n := range 4 {
		a := h.ask("POST", "/login", fmt.Sprintf("198.51.100.%d", n))
		if a.Deny || !h.report(a.Ticket, 401) {
			t.Fatalf("login %d: %+v", n, a.By)
		}
	}
	if a := h.ask("POST", "/login", "198.51.100.77"); !a.Deny || a.By.Rule.Name != "login/24,56" {
		t.Errorf("after four failures of the network: %+v", a.By)
	}
}

// Several requests that are decided in one step keep their networks apart.
func TestLaddersOfSeveralRequests(t *testing.T) {
	h := open(t, `
rules: []
policies:
  - {name: site, match: {}, ladder: [{v4: 24, v6: 56, times: 1}], siblings: 3, limit: 2, window: 1m}
`)
	both := func(clients ...string) (denied []string) {
		b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
		defer b.End()
		parts := make([]ask.Part, len(clients))
		h.s.Start()
		for i, client := range clients {
			h.fill("GET", "/", client, 0)
			h.s.AddRequest(&parts[i], &b, 1, ask.Take)
		}
		if _, err := h.s.DecideAll(&b, parts); err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			if parts[i].Deny {
				denied = append(denied, clients[i]+" "+parts[i].By.Rule.Name)
			}
		}
		return denied
	}
	if denied := both("203.0.113.1", "203.0.113.2", "198.51.100.1",
		"198.51.100.2"); len(denied) > 0 {
		t.Fatal(denied)
	}
	if denied := both("203.0.113.1", "203.0.113.2"); len(denied) > 0 {
		t.Fatalf("two addresses of a network at its limit: %v", denied)
	}
	if denied := both("192.0.2.1",
		"203.0.113.3"); fmt.Sprint(denied) != "[203.0.113.3 site/24,56]" {
		t.Errorf("a third one: %v", denied)
	}
}
