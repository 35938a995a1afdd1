package ask_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

const busy = `
rules: []
pools:
  - {name: workers, order: [test, batch, normal], stale: 10s}
  - {name: database, order: [batch]}
policies:
  - {name: payments, match: {path: "/pay/**"}, tier: critical}
  - {name: reports, match: {path: "/reports/**"}, tier: batch}
  - {name: tests, match: {header.x-test: true}, tier: test}
  - {name: all, match: {}, pool: workers}
  - {name: stored, match: {path: "/reports/**"}, pool: database, mode: shadow}
  - {name: site, match: {path: "/site/**"}, limit: 3, window: 1h}
  - {name: gets, match: {path: "/site/get"}, kind: concurrency, limit: 100}
`

// shed returns which share of 2,000 requests is denied, and the last denial.
func (h *house) shed(path string) (share float64, last ask.Answer) {
	denied := 0
	for range 2000 {
		a := h.ask("GET", path, "203.0.113.7")
		if a.Deny {
			denied++
			last = a
		}
	}
	return float64(denied) / 2000, last
}

// busyFor has workers report that share for so many seconds.
func (h *house) busyFor(name string, seconds int, share float64) {
	h.t.Helper()
	for range seconds {
		if err := h.room.Load(h.now, []byte(name), []byte("w"),
			uint32(share*pool.Unit)); err != nil {
			h.t.Fatal(err)
		}
		h.now = h.now.Add(time.Second)
		h.room.Turn(h.now)
	}
}

func TestPoolsShedTierByTier(t *testing.T) {
	h := open(t, busy)
	if share, _ := h.shed("/reports/1"); share != 0 {
		t.Errorf("idle: %v", share)
	}
	h.busyFor("workers", 13, 1) // level 1.3
	for path, want := range map[string]float64{"/pay/1": 0, "/reports/1": 0.3, "/": 0} {
		share, last := h.shed(path)
		if math.Abs(share-want) > 0.04 {
			t.Errorf("%s: %v denied, want %v", path, share, want)
		}
		if want > 0 && (last.Why != ask.ByLoad || last.Status != 503 || last.Pool != "workers" ||
			math.Abs(last.Ratio.Float()-want) > 1e-6 || last.By != nil) {
			t.Errorf("%+v", last)
		}
	}
	for _, f := range h.room.Figures() {
		if f.Name == "all" && (f.Denied.Total() < 500 || f.Denied.Total() > 700) ||
			f.Name == "reports" && f.Denied.Total() != 0 {
			t.Errorf("%+v", f)
		}
	}
	h.busyFor("workers", 120, 0)
	if share, _ := h.shed("/reports/1"); share != 0 {
		t.Errorf("after the load: %v", share)
	}
}

// A pool in shadow denies nothing.
func TestAPoolInShadow(t *testing.T) {
	h := open(t, busy)
	h.busyFor("database", 40, 1)
	shadows := 0
	for range 100 {
		a := h.ask("GET", "/reports/1", "203.0.113.7")
		if a.Deny {
			t.Fatalf("%+v", a)
		}
		if a.Shadow {
			shadows++
		}
	}
	if shadows != 100 {
		t.Errorf("%d of 100 would have been denied", shadows)
	}
}

// What a pool denies is admitted under no rule, and takes no places; and a rule that denies answers
// before the pool.
func TestAPoolAdmitsNothing(t *testing.T) {
	h := open(t, busy)
	h.busyFor("workers", 40, 1) // all of normal
	for range 5 {
		if a := h.ask("GET", "/site/get", "203.0.113.7"); a.Why != ask.ByLoad || a.Ticket != 0 {
			t.Fatalf("%+v", a)
		}
	}
	if n := h.gate.LeaseStats(h.now).Live; n != 0 {
		t.Errorf("%d leases", n)
	}
	h.busyFor("workers", 200, 0)
	for k := range 4 {
		if a := h.ask("GET", "/site/get", "203.0.113.7"); a.Deny != (k == 3) {
			t.Fatalf("request %d: %+v", k, a)
		}
	}
	h.busyFor("workers", 40, 1)
	if a := h.ask("GET", "/site/get", "203.0.113.7"); a.Why != ask.ByRules || a.Status != 429 ||
		a.By.Rule.Name != "site" {
		t.Errorf("%+v", a)
	}
}

func TestReportsOfLoad(t *testing.T) {
	h := open(t, busy)
	if err := h.room.Load(h.now, []byte("nothing"), []byte("w"),
		0); !errors.Is(err, ask.ErrUnknownPool) {
		t.Error(err)
	}
	h.busyFor("workers", 25, 1)
	h.put(h.parse(busy)) // a reload keeps the level
	if v := h.room.Pools(); len(v) != 2 || v[0].Level != 2.5 ||
		v[1].Level != 0 || v[0].Sources != 1 {
		t.Errorf("%+v", v)
	}
	for n := range pool.MaxSources {
		if err := h.room.Load(h.now, []byte("workers"), []byte{byte(n), byte(n >> 8), 1},
			0); (err != nil) != (n == pool.MaxSources-1) || err != nil &&
			!errors.Is(err, ask.ErrFull) {
			t.Fatal(n, err)
		}
	}
}

func TestPoolsAllocateNothing(t *testing.T) {
	h := open(t, busy)
	h.busyFor("workers", 13, 1)
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	target := []byte("/reports/1")
	if n := testing.AllocsPerRun(200, func() {
		h.s.Begin()
		h.s.Request.SetTarget(target, h.s.Clients())
		h.s.Decide(&b, h.now, rand.Uint64())
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
