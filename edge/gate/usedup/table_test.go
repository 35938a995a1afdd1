package usedup_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/usedup"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const now = window.Instant(1_800_000_000_000_000_000)

func rule() *mitigation.Rule {
	return &mitigation.Rule{Name: "login", Limit: 5, Window: time.Minute, Scope: mitigation.PoP}
}

func newTable() *usedup.Table {
	t := new(usedup.Table)
	t.SetSecret([]byte("secret"))
	return t
}

// A key is at its limit until the longest of its notices is over, and no longer.
func TestAKeyIsAtItsLimitUntilItsNoticesAreOver(t *testing.T) {
	t.Parallel()
	table, r := newTable(), rule()
	n, ask := table.Name(r, []byte("k")), table.UsedUp(r)
	for _, c := range []struct{ put, want time.Duration }{
		{0, 0},
		{5 * time.Second, 5 * time.Second},
		{3 * time.Second, 5 * time.Second},
		{
			8 * time.Second,
			8 * time.Second,
		},
	} {
		if c.put > 0 {
			table.Put(n, now.Add(c.put), 1)
		}
		want := window.Instant(0)
		if c.want > 0 {
			want = now.Add(c.want)
		}
		if got := ask(now, []byte("k")); got != want {
			t.Errorf("after a notice of %v: %v", c.put, got.Sub(now))
		}
	}
	if got := ask(now.Add(8*time.Second), []byte("k")); got != 0 {
		t.Error("after its end it still holds")
	}
	table.Put(n, now.Add(9*time.Second), 1)
	table.Forget(n)
	if got := ask(now, []byte("k")); got != 0 {
		t.Error("it is known after Forget")
	}
}

// Rules, limits, windows, modes and secrets have keys of their own.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	table, r := newTable(), rule()
	table.Put(table.Name(r, []byte("k")), now.Add(time.Second), 1)
	for what, change := range map[string]func(r *mitigation.Rule){
		"rule":   func(r *mitigation.Rule) { r.Name = "logi" },
		"limit":  func(r *mitigation.Rule) { r.Limit = 6 },
		"window": func(r *mitigation.Rule) { r.Window = time.Hour },
		"mode":   func(r *mitigation.Rule) { r.Mode = mitigation.Shadow },
	} {
		other := rule()
		change(other)
		if table.UsedUp(other)(now, []byte("k")) != 0 {
			t.Errorf("a notice holds under another %s", what)
		}
	}
	if ask := table.UsedUp(r); ask(now, []byte("nk")) != 0 || ask(now, []byte("k")) == 0 {
		t.Error("keys are mistaken")
	}
	table.SetSecret([]byte("another"))
	if table.UsedUp(r)(now, []byte("k")) != 0 {
		t.Error("a notice holds under another secret")
	}
}

// Only limits that counts alone hold have notices.
func TestLargeLimitsAndOtherKindsHaveNone(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(r *mitigation.Rule){
		"node":               func(r *mitigation.Rule) { r.Scope = mitigation.Node },
		"small, of all PoPs": func(r *mitigation.Rule) { r.Scope = mitigation.Global },
		"large":              func(r *mitigation.Rule) { r.Limit = window.SmallLimit + 1 },
		"offered":            func(r *mitigation.Rule) { r.Counts = mitigation.CountOffered },
		"bucket":             func(r *mitigation.Rule) { r.Kind = mitigation.Bucket },
		"places":             func(r *mitigation.Rule) { r.Kind = mitigation.Concurrency },
	} {
		r := rule()
		if change(r); newTable().UsedUp(r) != nil {
			t.Errorf("%s: there are notices", what)
		}
	}
}

// A full table forgets the shortest of eight, and never takes one key for another.
func TestAFullTableForgetsTheShortest(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	table, r := newTable(), rule()
	ask := table.UsedUp(r)
	const keys = 100_000
	for k := range keys {
		table.Put(table.Name(r, fmt.Append(nil, k)), now.Add(time.Duration(k+1)*time.Millisecond), 1)
	}
	known := 0
	for k := range keys {
		switch got := ask(now, fmt.Append(nil, k)); got {
		case now.Add(time.Duration(k+1) * time.Millisecond):
			if known++; k < keys/2 {
				t.Errorf("key %d of %d is still known", k, keys)
			}
		case 0:
		default:
			t.Fatalf("key %d until %v", k, got.Sub(now))
		}
		if ask(now, fmt.Append(nil, "other", k)) != 0 {
			t.Fatalf("key other%d is known", k)
		}
	}
	if known < 8000 || known > 8192 {
		t.Errorf("%d keys are known", known)
	}
}

// A request's question allocates nothing, whether there are notices or not.
func TestUsedUpAllocatesNothing(t *testing.T) {
	table, r := newTable(), rule()
	ask, key := table.UsedUp(r), []byte("203.0.113.7")
	look := func() { _ = ask(now, key) }
	if n := testing.AllocsPerRun(100, look); n != 0 {
		t.Errorf("%v allocations without notices", n)
	}
	table.Put(table.Name(r, key), now.Add(time.Second), 1)
	if n := testing.AllocsPerRun(100, look); n != 0 {
		t.Errorf("%v allocations with one", n)
	}
}
