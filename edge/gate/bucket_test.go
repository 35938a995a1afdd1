package gate_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// tokens is a bucket of 5 that refills with one a second, and slow one of 2 with one every 10 s.
var (
	tokens = mitigation.Rule{
		Name: "tokens", Limit: 60, Window: time.Minute,
		Kind: mitigation.Bucket, Burst: 5,
	}
	slow = mitigation.Rule{
		Name: "slow", Limit: 6, Window: time.Minute,
		Kind: mitigation.Bucket, Burst: 2,
	}
)

// TestBucketDecisions is a key's life under a bucket: remaining, reset and retry by section of
// time.
func TestBucketDecisions(t *testing.T) {
	g := gatetest.New(t, 1<<20, tokens)
	began := g.Now()
	for n, c := range []struct {
		at    time.Duration
		op    gate.Op
		cost  uint32
		deny  bool
		left  int64
		reset time.Duration
		retry time.Duration
	}{
		{0, gate.Peek, 1, false, 5, 0, 0},
		{0, gate.Check, 3, false, 2, time.Second, 0},
		{0, gate.Peek, 3, true, 2, time.Second, time.Second},
		{0, gate.Check, 5, true, 2, time.Second, 3 * time.Second},
		{0, gate.Check, 2, false, 0, time.Second, 0},
		{0, gate.Check, 1, true, 0, time.Second, time.Second},
		{0, gate.Check, 6, true, 0, time.Second, 0}, // never passes
		{time.Second, gate.Check, 1, false, 0, time.Second, 0},
		{time.Second, gate.Count, 3, false, 0, 0, 0}, // whether it fits or not
		{3500 * time.Millisecond, gate.Check, 1, true, 0, 2 * time.Second, 2 * time.Second},
		{5 * time.Second, gate.Check, 1, false, 0, time.Second, 0},
		{time.Minute, gate.Peek, 1, false, 5, 0, 0},
		// a single cost above the burst is a debt of what is above it
		{time.Minute, gate.Count, 7, false, 0, 0, 0},
		{time.Minute, gate.Check, 1, true, 0, 3 * time.Second, 3 * time.Second},
		{time.Minute, gate.Count, 100, false, 0, 0, 0},
		// in debt by one burst, not more
		{time.Minute, gate.Check, 1, true, 0, 6 * time.Second, 6 * time.Second},
	} {
		got := gatetest.Decide(g, began.Add(c.at), c.op, "tokens", "k", c.cost)
		if got.Deny != c.deny || got.Remaining != c.left || got.Reset != c.reset ||
			got.Retry != c.retry {
			t.Errorf("step %d: %+v, want %+v", n, got, c)
		}
	}
}

// TestBucketReports: a report of a request, which counts without a decision, is a debt as well.
func TestBucketReports(t *testing.T) {
	g := gatetest.New(t, 1<<20, tokens, slow)
	now := g.Now()
	q := gate.Question{Ask: gatetest.Ask(gate.Count, "tokens", "k", 7)}
	all(t, g, now, q, question(gate.Check, "slow", "k"))
	if got := gatetest.Decide(g, now, gate.Check, "tokens", "k", 1); got.Retry != 3*time.Second {
		t.Errorf("7 of 5 tokens are taken: %+v", got)
	}
}

// TestBucketsTogether: a request under two buckets and a window takes from all or from none, and
// the answer is that of the longest retry.
func TestBucketsTogether(t *testing.T) {
	g := gatetest.New(t, 1<<20, tokens, slow, group)
	now := g.Now()
	for k := range 4 {
		got := all(t, g, now, question(gate.Check, "group", "a"),
			question(gate.Check, "tokens", "a"), question(gate.Check, "slow", "a"))
		if got.Deny != (k >= 2) || got.By != 2 {
			t.Fatalf("request %d: deny %v by %d: %+v", k, got.Deny, got.By, got.Decisions[:3])
		}
		if got.Deny && got.Decisions[2].Retry.Round(time.Millisecond) != 10*time.Second {
			t.Errorf("retry %v", got.Decisions[2].Retry)
		}
	}
	if a, b := left(g, now, "group", "a"), left(g, now, "tokens", "a"); a != 8 || b != 3 {
		t.Errorf("left %d of the group and %d of the bucket, want 8 and 3", a, b)
	}
}

// TestBucketInShadow decides as when enforced, and answers allow.
func TestBucketInShadow(t *testing.T) {
	shadow := slow
	shadow.Mode = mitigation.Shadow
	g := gatetest.New(t, 1<<20, shadow)
	now := g.Now()
	for k := range 4 {
		got := gatetest.Decide(g, now, gate.Check, "slow", "k", 1)
		if got.Deny || got.Shadow != (k >= 2) {
			t.Errorf("request %d: %+v", k, got)
		}
	}
}

// TestBucketBlocks: with action block the request that the bucket has no token for blocks its key.
func TestBucketBlocks(t *testing.T) {
	rule := slow
	rule.Action, rule.BlockFor = mitigation.Block, time.Minute
	g := gatetest.New(t, 1<<20, rule)
	now := g.Now()
	for range 3 {
		gatetest.Decide(g, now, gate.Check, "slow", "k", 1)
	}
	got := gatetest.Decide(g, now.Add(30*time.Second), gate.Check, "slow", "k", 1)
	if !got.Deny || got.Why != mitigation.ByBlock || got.Retry != 30*time.Second {
		t.Errorf("%+v", got)
	}
}

// TestBucketOverARestart: what was taken is still taken, and after a crash a denied key has nothing
// more than it had, for as long as nothing was written.
func TestBucketOverARestart(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		g := gatetest.New(t, 1<<20, slow)
		now := g.Now()
		for range 3 {
			gatetest.Decide(g, now, gate.Check, "slow", "k", 1)
		}
		s := g.Snapshot(now, stopped)
		next := gatetest.New(t, 1<<20, slow)
		later := next.Now().Add(11 * time.Second)
		is, err := next.Restore(later, s, 10*time.Second)
		if err != nil || is.Counts != 1 {
			t.Fatal(is, err)
		}
		want := int64(1) // of 11 s
		if !stopped {
			want = 0 // it may have been taken before the crash
		}
		if n := left(next, later, "slow", "k"); n != want {
			t.Errorf("stopped %v: %d left, want %d", stopped, n, want)
		}
	}
}

// TestCountBlocksBucket: a count that uses up the bucket of a rule that blocks begins the block,
// alone or as a question of a request.
func TestCountBlocksBucket(t *testing.T) {
	t.Parallel()
	rule := mitigation.Rule{
		Name: "r", Kind: mitigation.Bucket, Limit: 6, Window: time.Second, Burst: 4,
		Action: mitigation.Block, BlockFor: 2 * time.Second,
	}
	for name, count := range map[string]func(b *gate.Batch, a *gate.Ask) error{
		"alone": func(b *gate.Batch, a *gate.Ask) error { return b.Decide(&gate.Decision{}, a) },
		"of a request": func(b *gate.Batch, a *gate.Ask) error {
			all := gate.Together{N: 1}
			all.Questions[0] = gate.Question{Ask: *a, At: -1}
			return b.All(&all)
		},
	} {
		g := gatetest.New(t, 1<<20, rule)
		now := g.Now().Add(time.Hour)
		gatetest.Decide(g, now, gate.Check, "r", "k", 3)
		now = now.Add(time.Second)
		gatetest.Decide(g, now, gate.Check, "r", "k", 1)
		b := g.Lane(0).Batch(now, func() uint64 { return 0 })
		a := gatetest.Ask(gate.Count, "r", "k", 4)
		if err := count(&b, &a); err != nil {
			t.Fatal(err)
		}
		b.End()
		if d := gatetest.Decide(g, now.Add(time.Second), gate.Check, "r", "k", 1); !d.Deny ||
			d.Why != mitigation.ByBlock {
			t.Errorf("%s: %+v, want a block", name, d)
		}
	}
}
