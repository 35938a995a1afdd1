package gate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/bucket"
)

// queue is nginx's limit_req rate=10r/s burst=5: one every 100 ms, and five that wait.
var queue = mitigation.Rule{
	Name: "queue", Limit: 10, Window: time.Second, Kind: mitigation.Bucket, Burst: 1,
	Delay: 500 * time.Millisecond,
}

// patient asks for a request of that cost that can wait.
func patient(
	t testing.TB, g *gate.Gate, now window.Instant, rule string, cost uint32,
) gate.Decision {
	t.Helper()
	a := gatetest.Ask(gate.Check, rule, "k", cost)
	a.Wait = true
	d, err := g.Lane(0).Decide(now, 0, a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDelay: who can wait gets the next place, up to the delay; who cannot is denied, and takes
// none.
func TestDelay(t *testing.T) {
	g := gatetest.New(t, 1<<20, queue)
	now := g.Now()
	for n := range 6 {
		if d := patient(t, g, now, "queue", 1); d.Deny ||
			d.Delay != time.Duration(n)*100*time.Millisecond {
			t.Errorf("request %d: %+v", n, d)
		}
		if d := gatetest.Decide(g, now, gate.Check, "queue", "k", 1); !d.Deny || d.Delay != 0 {
			t.Errorf("request %d of who cannot wait: %+v", n, d)
		}
	}
	if d := patient(t, g, now, "queue", 1); !d.Deny || d.Retry != time.Second ||
		d.Why != mitigation.ByLimit {
		t.Errorf("the seventh: %+v", d)
	}
	now = now.Add(100 * time.Millisecond)
	if d := patient(t, g, now, "queue", 1); d.Deny || d.Delay != 500*time.Millisecond {
		t.Errorf("when one has passed: %+v", d)
	}
	if d := patient(t, g, now.Add(time.Second), "queue", 2); !d.Deny {
		t.Errorf("a cost above the burst waits: %+v", d)
	}
}

// TestDelayAgainstTheArithmetic: 20,000 requests of any cost are delayed as bucket.Reserve says,
// which is held against x/time/rate.
func TestDelayAgainstTheArithmetic(t *testing.T) {
	rule := mitigation.Rule{
		Name: "r", Limit: 7, Window: time.Second, Kind: mitigation.Bucket,
		Burst: 5, Delay: 3 * time.Second,
	}
	g := gatetest.New(t, 1<<20, rule)
	b, _ := bucket.New(rule.Limit, rule.Window, rule.Burst)
	r, now, tat, delayed := rand.New(rand.NewPCG(1, 1)), g.Now(), bucket.TAT{}, 0
	for n := range 20_000 {
		now = now.Add(time.Duration(r.Int64N(int64(3 * b.Token()))))
		cost := 1 + r.Int64N(3)
		wait, next, ok := b.Reserve(tat, int64(now), cost, rule.Delay)
		tat = next
		d := patient(t, g, now, "r", uint32(cost)) // at most 3
		if d.Deny == ok || ok && d.Delay != wait {
			t.Fatalf("request %d: deny %v after %v, want %v after %v", n,
				d.Deny, d.Delay, !ok, wait)
		}
		if d.Delay > 0 {
			delayed++
		}
	}
	if delayed < 1000 {
		t.Errorf("only %d were delayed", delayed)
	}
}

// TestDelaysTogether: a request waits for the slowest of its buckets, and takes a place in none if
// one denies it.
func TestDelaysTogether(t *testing.T) {
	wide := mitigation.Rule{
		Name: "wide", Limit: 1, Window: time.Second, Kind: mitigation.Bucket,
		Burst: 2, Delay: 3 * time.Second,
	}
	g := gatetest.New(t, 1<<20, queue, wide)
	now := g.Now()
	can := func(rule string) gate.Question {
		q := question(gate.Check, rule, "k")
		q.Wait = true
		return q
	}
	for n, want := range []time.Duration{
		0, 100 * time.Millisecond, time.Second, 2 * time.Second,
		3 * time.Second,
	} {
		if got := all(t, g, now, can("queue"), can("wide")); got.Deny || got.Delay() != want {
			t.Errorf("request %d: deny %v, delay %v, want %v", n, got.Deny, got.Delay(), want)
		}
	}
	if got := all(t, g, now, can("queue"), can("wide")); !got.Deny ||
		got.Delay() != 0 || got.By != 1 {
		t.Errorf("denied by the wide one: %+v", got.Decisions[:2])
	}
	if d := patient(t, g, now, "queue", 1); d.Delay != 500*time.Millisecond {
		t.Errorf("the queue has five places taken, and one asks for a delay of %v", d.Delay)
	}
}

// TestDelayInShadow: nobody is told to wait by a rule in shadow.
func TestDelayInShadow(t *testing.T) {
	rule := queue
	rule.Mode = mitigation.Shadow
	g := gatetest.New(t, 1<<20, rule)
	now := g.Now()
	for n := range 8 {
		if d := patient(t, g, now, "queue", 1); d.Deny || d.Delay != 0 || d.Shadow != (n > 5) {
			t.Errorf("request %d: %+v", n, d)
		}
	}
}

// TestDeniedRequestsCount: with counts: offered, who goes on asking past the limit is not let in
// again; who pauses is, after one window, however much was denied.
func TestDeniedRequestsCount(t *testing.T) {
	admitted := mitigation.Rule{Name: "admitted", Limit: 3, Window: 10 * time.Second}
	offered := admitted
	offered.Name, offered.Counts = "offered", mitigation.CountOffered
	g := gatetest.New(t, 1<<20, admitted, offered)
	passed := map[string]int{}
	now := g.Now()
	for range 100 {
		now = now.Add(time.Second)
		for _, rule := range []string{"admitted", "offered"} {
			d := gatetest.Decide(g, now, gate.Check, rule, "k", 1)
			if !d.Deny {
				passed[rule]++
			} else if rule == "offered" && d.Retry != 8*time.Second {
				t.Fatalf("retry %v: the oldest of the last three was 2 s ago", d.Retry)
			}
		}
	}
	if passed["offered"] != 3 || passed["admitted"] < 28 {
		t.Errorf("passed %v", passed)
	}
	if n := left(g, now.Add(10*time.Second-time.Millisecond), "offered", "k"); n != 2 {
		t.Errorf("%d left just before a window has passed, want 2", n)
	}
	if n := left(g, now.Add(10*time.Second), "offered", "k"); n != 3 {
		t.Errorf("%d left after a window, want all", n)
	}
}

// TestDeniedByAnotherDoesNotCount: counts: offered is about a rule's own limit.
func TestDeniedByAnotherDoesNotCount(t *testing.T) {
	offered := mitigation.Rule{
		Name: "offered", Limit: 5, Window: time.Minute,
		Counts: mitigation.CountOffered,
	}
	g := gatetest.New(t, 1<<20, offered, route)
	now := g.Now()
	for range 10 {
		all(t, g, now, question(gate.Check, "offered", "a"), question(gate.Check, "route", "a"))
	}
	if n := left(g, now, "offered", "a"); n != 2 {
		t.Errorf("%d left, want 2: three passed", n)
	}
}
