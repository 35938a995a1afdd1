package gate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// exports is a rule of three places.
var exports = mitigation.Rule{
	Name: "exports", Kind: mitigation.Concurrency, Limit: 3,
	Lease: time.Minute,
}

// acquire takes a lease of cost places for key, for so many seconds; 0: those of the rule.
//
//nolint:revive // a question in one line
func acquire(t testing.TB, g *gate.Gate, now window.Instant, key string, cost,
	seconds uint32,
) gate.Decision {
	t.Helper()
	a := gatetest.Ask(gate.Acquire, "exports", key, cost)
	a.For = seconds
	d, err := g.Lane(0).Decide(now, rand.Uint64(), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func release(
	t testing.TB, g *gate.Gate, now window.Instant, key string, number uint64,
) (late bool) {
	t.Helper()
	late, err := g.Release(now, []byte("exports"), []byte(key), number)
	if err != nil {
		t.Fatal(err)
	}
	return late
}

func TestPlacesAreHeldUntilTheyAreReleased(t *testing.T) {
	g := gatetest.New(t, 1<<20, exports)
	now := g.Now()
	one := acquire(t, g, now, "a", 1, 0)
	two := acquire(t, g, now, "a", 2, 0)
	if one.Deny || two.Deny || one.Remaining != 2 || two.Remaining != 0 ||
		two.Reset != time.Minute || !lease.IsLease(one.Lease) {
		t.Fatalf("%+v\n%+v", one, two)
	}
	over := acquire(t, g, now, "a", 1, 0)
	if !over.Deny || over.Why != mitigation.ByLimit || over.Retry != time.Second ||
		over.Lease != 0 {
		t.Fatalf("%+v", over)
	}
	if d := acquire(t, g, now, "b", 3, 0); d.Deny {
		t.Error("another key is denied")
	}
	if release(t, g, now, "b", one.Lease) == false {
		t.Error("b released a lease of a")
	}
	if release(t, g, now, "a", two.Lease) || !release(t, g, now, "a", two.Lease) {
		t.Error("a lease is released once")
	}
	if d := acquire(t, g, now, "a", 3, 0); !d.Deny {
		t.Error("3 of 2 places")
	}
	if d := acquire(t, g, now, "a", 2, 0); d.Deny {
		t.Errorf("two places are free: %+v", d)
	}
	if release(t, g, now, "a", 0) || gatetest.Decide(g, now, gate.Peek, "exports", "a",
		1).Remaining != 1 {
		t.Error("a release without a number frees the oldest lease")
	}
}

// Nobody releases: everything is free after one lease. What is renewed lasts a lease more.
func TestLeasesEndByThemselves(t *testing.T) {
	g := gatetest.New(t, 1<<20, exports)
	now := g.Now()
	first := acquire(t, g, now, "a", 1, 0)
	acquire(t, g, now, "a", 1, 30)
	acquire(t, g, now, "a", 1, 3600) // cut to the rule's
	for _, c := range []struct {
		after time.Duration
		free  int64
	}{{30*time.Second - 1, 0}, {30 * time.Second, 1}, {time.Minute - 1, 1}, {time.Minute, 3}} {
		if d := gatetest.Decide(g, now.Add(c.after), gate.Peek, "exports", "a",
			1); d.Remaining != c.free {
			t.Errorf("%d places free after %v, want %d", d.Remaining, c.after, c.free)
		}
	}
	if !release(t, g, now.Add(time.Minute), "a", first.Lease) {
		t.Error("a lease that ended is released late")
	}
	now = now.Add(time.Hour)
	first = acquire(t, g, now, "a", 1, 0)
	if late, err := g.Renew(now.Add(59*time.Second), []byte("exports"), []byte("a"),
		first.Lease); late || err != nil {
		t.Errorf("renewal: late %v, %v", late, err)
	}
	if release(t, g, now.Add(118*time.Second), "a", first.Lease) {
		t.Error("the renewed lease ended early")
	}
}

func TestQuestionsOfTheWrongKind(t *testing.T) {
	g := gatetest.New(t, 1<<20, exports, gatetest.Shed)
	now := g.Now()
	for _, a := range []gate.Ask{
		gatetest.Ask(gate.Check, "exports", "a", 1), gatetest.Ask(gate.Count, "exports", "a", 1),
		gatetest.Ask(gate.Acquire, "shed", "a", 1),
	} {
		if _, err := g.Lane(0).Decide(now, 7, a); !errors.Is(err, gate.ErrKind) {
			t.Errorf("%+v: %v", a, err)
		}
		b := g.Lane(0).Batch(now, rand.Uint64)
		var d gate.Decision
		if err := b.Decide(&d, &a); !errors.Is(err, gate.ErrKind) {
			t.Errorf("%+v in a batch: %v", a, err)
		}
	}
	if _, err := g.Release(now, []byte("shed"), []byte("a"), 0); !errors.Is(err, gate.ErrKind) {
		t.Error(err)
	}
	if _, err := g.Renew(now, []byte("none"), []byte("a"), 0); !errors.Is(err,
		gate.ErrUnknownRule) {
		t.Error(err)
	}
	for _, name := range []string{"exports", "shed"} {
		if f, _, _ := g.Observation(name); f.Totals.Offered() != 0 {
			t.Errorf("%s counted %+v", name, f.Totals)
		}
	}
}

// A request takes places and counts under another rule, or neither.
func TestPlacesAndCostsAllOrNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, exports, group)
	now := g.Now()
	for k := range 5 {
		got := all(t, g, now, question(gate.Check, "group", "a"), question(gate.Check, "exports",
			"a"))
		if got.Deny != (k >= 3) || (got.Decisions[1].Lease != 0) != (k < 3) {
			t.Fatalf("request %d: %+v", k, got.Decisions[:2])
		}
	}
	if n := left(g, now, "group", "a"); n != 7 {
		t.Errorf("the group has %d left, want 7", n)
	}
	for range 10 {
		gatetest.Decide(g, now, gate.Check, "group", "b", 1)
	}
	got := all(t, g, now, question(gate.Check, "exports", "b"), question(gate.Check, "group", "b"))
	if !got.Deny || got.By != 1 || got.Decisions[0].Deny || got.Decisions[0].Lease != 0 {
		t.Errorf("deny %v by %d: %+v", got.Deny, got.By, got.Decisions[:2])
	}
	if n := left(g, now, "exports", "b"); n != 3 {
		t.Errorf("a request that another rule denied took places: %d left", n)
	}
	f, _, _ := g.Observation("exports")
	if r := f.Totals.Requests; r[gate.OutcomeAllowed] != 3 || r[gate.OutcomeLimited] != 2 ||
		r[gate.OutcomeWithheld] != 1 {
		t.Errorf("%+v", r)
	}
	got = all(t, g, now, question(gate.Check, "exports", "c"), question(gate.Check, "exports", "c"),
		question(gate.Check, "exports", "c"), question(gate.Check, "exports", "c"))
	if !got.Deny || left(g, now, "exports", "c") != 3 {
		t.Error("four questions took three places")
	}
}

func TestFlagsAndModesOfPlaces(t *testing.T) {
	shadow, off := exports, exports
	shadow.Mode, off.Mode = mitigation.Shadow, mitigation.Off
	g := gatetest.New(t, 1<<20, exports)
	now := g.Now()
	by := func(key string, action mitigation.Action) {
		if _, err := g.Override(now, gate.ByHand{
			Rule: "exports", Key: []byte(key), Action: action,
			TTL: time.Hour, Who: "t",
		}); err != nil {
			t.Fatal(err)
		}
	}
	by("blocked", mitigation.Block)
	by("allowed", mitigation.Allow)
	if d := acquire(t, g, now, "blocked", 1, 0); !d.Deny || d.Why != mitigation.ByBlock ||
		d.Retry < time.Minute {
		t.Errorf("%+v", d)
	}
	for range 5 {
		if d := acquire(t, g, now, "allowed", 1, 0); d.Deny || d.Lease == 0 {
			t.Errorf("%+v", d)
		}
	}
	g.SetRules([]mitigation.Rule{shadow})
	for k := range 5 {
		d := acquire(t, g, now, "s", 1, 0)
		if d.Deny || d.Shadow != (k >= 3) || (d.Lease == 0) != (k >= 3) {
			t.Errorf("in shadow, request %d: %+v", k, d)
		}
	}
	g.SetRules([]mitigation.Rule{exports})
	if d := acquire(t, g, now, "s", 1, 0); !d.Deny {
		t.Error("the places that were taken in shadow are free")
	}
	g.SetRules([]mitigation.Rule{off})
	if d := acquire(t, g, now, "s", 1, 0); d.Deny || d.Lease != 0 || d.Remaining != 3 {
		t.Errorf("off: %+v", d)
	}
}

// With no lease left, and all keys at their limits, the failure mode decides.
func TestNoLeaseLeft(t *testing.T) {
	for mode, deny := range map[mitigation.FailureMode]bool{
		mitigation.FailLocal: false,
		mitigation.FailAllow: false, mitigation.FailDeny: true,
	} {
		many := exports
		many.Limit, many.FailureMode = 1, mode
		g := gatetest.New(t, 1<<20, many)
		now := g.Now()
		n := 0
		for acquire(t, g, now, fmt.Sprint(n), 1, 0).Lease != 0 {
			n++
		}
		d := acquire(t, g, now, "b", 1, 0)
		if d.Deny != deny || !d.Full || d.Lease != 0 || n < lease.Least {
			t.Errorf("%v: after %d leases %+v", mode, n, d)
		}
		if s := g.LeaseStats(now); s.Full != 2 || s.Live != n || s.Room != n {
			t.Errorf("%+v", s)
		}
	}
}

// A full table hides nobody: a key that is new to it gets its limit, and no more.
func TestNewKeyOfFullPlaces(t *testing.T) {
	g := gatetest.New(t, 1<<20, exports)
	now := g.Now()
	for n := range 2 * lease.Least {
		acquire(t, g, now, fmt.Sprint(n), 1, 0)
	}
	passed := 0
	for range 60 {
		if !acquire(t, g, now, "new", 1, 0).Deny {
			passed++
		}
	}
	if s := g.LeaseStats(now); passed != int(exports.Limit) || s.Displaced == 0 || s.Full != 0 {
		t.Errorf("%d of 60 passed, want %d; %+v", passed, exports.Limit, s)
	}
}

// Requests race for places and for counts: what is held equals what passed, in every rule.
func TestPlacesRace(t *testing.T) {
	count := mitigation.Rule{Name: "count", Limit: 100_000, Window: time.Hour}
	g := gatetest.New(t, 4<<20, exports, count, group)
	now := g.Now()
	var wait sync.WaitGroup
	var mu sync.Mutex
	passed, held := int64(0), 0
	for n := range 4 {
		wait.Go(func() {
			b := g.Lane(n).Batch(now, rand.Uint64)
			defer b.End()
			var together gate.Together
			for k := range 3000 {
				together.N = copy(together.Questions[:],
					[]gate.Question{
						question(gate.Check, "count", "a"),
						question(gate.Check, "exports", "a"), question(gate.Peek, "group", "a"),
					})
				if err := b.All(&together); err != nil {
					t.Error(err)
				}
				number := together.Decisions[1].Lease
				if together.Deny != (number == 0) {
					t.Error("passed without a lease, or denied with one")
				}
				if number == 0 {
					continue
				}
				mu.Lock()
				passed++
				if held++; held > 3 {
					t.Error("more than three at once")
				}
				mu.Unlock()
				if k%7 == 0 {
					mu.Lock()
					held--
					mu.Unlock()
					if late, _ := g.Release(now, []byte("exports"), []byte("a"), number); late {
						t.Error("a lease was lost")
					}
					continue
				}
				mu.Lock()
				held--
				mu.Unlock()
				g.EndLease(now, number)
			}
		})
	}
	wait.Wait()
	if used := 100_000 - left(g, now, "count", "a"); used != passed ||
		left(g, now, "exports", "a") != 3 {
		t.Errorf("%d counted, %d passed", used, passed)
	}
}

func TestAcquiringAllocatesNothing(t *testing.T) {
	g := gatetest.New(t, 1<<20, exports)
	now, key := g.Now(), []byte("a")
	a := gatetest.Ask(gate.Acquire, "exports", "a", 1)
	if n := testing.AllocsPerRun(500, func() {
		d, _ := g.Lane(0).Decide(now, 7, a)
		_, _ = g.Release(now, a.Rule, key, d.Lease)
	}); n > 0.1 { // a pool may be emptied
		t.Errorf("%v allocations", n)
	}
}
