package admin_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const suggestedKinds = `
pools:
  - {name: workers, order: [test, normal], up: 50%}
rules:
  - {name: api, limit: 10, window: 10s, burst: 20, mode: shadow}
  - {name: queue, limit: 10, window: 10s, burst: 20, delay: 5s}
  - {name: jobs, kind: concurrency, limit: 5, lease: 1m}
  - {name: late, limit: 20, window: 10s, counts: offered}
policies:
  - {name: site, match: {}, pool: workers}
`

// between reports whether the share lies in the range, which is no wider than that.
func between(share float64, r api.ShareRange, width float64) bool {
	const bit = 1e-9
	return share >= r.Low-bit && share <= r.High+bit && r.High-r.Low <= width
}

// TestSuggestOfBuckets: what other bursts would deny of keys that each took five times their number
// at once, in bounds that are no wider than what comes back between two looks; of a queue what
// would not pass within its delay.
func TestSuggestOfBuckets(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	for rule, waits := range map[string]int64{"api": 0, "queue": 5} {
		keys := uint64(0)
		// an estimate: by chance two of eight keys are counted as one, under one seed in seventy
		for range 5 {
			if keys = suggestOfBucket(t, rule, waits); keys == 8 {
				break
			}
		}
		if keys != 8 {
			t.Errorf("%s: %d keys, want 8", rule, keys)
		}
	}
}

// suggestOfBucket is TestSuggestOfBuckets for one rule, of which a queue lets wait for the number
// of tokens; it returns how many keys the answer estimates.
func suggestOfBucket(t *testing.T, rule string, waits int64) (keys uint64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, _ := newNodeUnder(t, suggestedKinds)
		runFor(a.gate, 2*time.Second)
		for k := int64(1); k <= 8; k++ {
			for range 5 * k {
				ask := gatetest.Ask(gate.Check, rule, fmt.Sprint(k), 1)
				ask.Wait = true
				if _, err := a.gate.Lane(0).Decide(a.gate.Now(), 0, ask); err != nil {
					t.Fatal(err)
				}
			}
		}
		runFor(a.gate, 30*time.Second)
		got := askFor[api.SuggestView](t, a, "/v1/suggest?rule="+rule)
		keys = got.Keys
		if got.Offered != 180 || got.Sample.Keys != 8 || got.Kind != "bucket" || got.Burst != 20 ||
			got.Sample.BlindTo != 1 || got.Sample.LateLooks != 0 {
			t.Errorf("%s: %+v", rule, got)
		}
		if (got.Waited != nil) != (waits > 0) || waits > 0 &&
			(got.Waited.Requests != 5*4 || math.Abs(got.Waited.Mean-3) > 0.1) {
			t.Errorf("%s: waited %+v", rule, got.Waited)
		}
		tried := 0
		for _, row := range got.Rows {
			cost, keys := 0.0, 0.0
			for k := int64(1); k <= 8; k++ {
				if over := 5*k - row.Limit - waits; over > 0 {
					cost, keys = cost+float64(over)/180, keys+1./8
				}
			}
			if row.Limit == 20 { // counted: with the same estimate of keys
				if own := row.Keys; own.Low != own.High || got.Keys == 8 &&
					math.Abs(own.Low-keys) > 0.01 {
					t.Errorf("%s: denied keys of the rule's own burst: %+v, want %v", rule, own,
						keys)
				}
				row.Keys = api.ShareRange{Low: keys, High: keys}
			}
			if !between(cost, row.Cost, 24./180) || !between(keys, row.Keys, 2./8) || row.AtLeast {
				t.Errorf("%s, burst %d: %+v, want %v of the cost and %v of the keys", rule,
					row.Limit, row, cost, keys)
			}
			if row.Limit == 20 && (row.Note != "the rule's limit" ||
				row.Cost.Low != row.Cost.High) {
				t.Errorf("the rule's own: %+v", row)
			}
			tried++
		}
		if tried < 5 {
			t.Errorf("%s: %d rows", rule, tried)
		}
	})
	return keys
}

// TestSuggestOfPlaces: fewer places deny the part of the time that was held above them.
func TestSuggestOfPlaces(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	for range 5 { // as in TestSuggestOfBuckets
		if suggestOfPlaces(t) == 4 {
			return
		}
	}
	t.Error("four keys are never four")
}

// suggestOfPlaces is TestSuggestOfPlaces, and returns how many keys the answer estimates; of fewer
// than four it says no more.
func suggestOfPlaces(t *testing.T) (keys uint64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, _ := newNodeUnder(t, suggestedKinds)
		if got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=jobs"); len(got.Rows) != 0 ||
			got.Kind != "concurrency" || got.Held != nil {
			t.Errorf("before anything was held: %+v", got)
		}
		runFor(a.gate, time.Second)
		for k := range 4 {
			for range k + 1 {
				gatetest.Decide(a.gate, a.gate.Now(), gate.Acquire, "jobs", fmt.Sprint(k), 1)
			}
		}
		if d := gatetest.Decide(a.gate, a.gate.Now(), gate.Acquire, "jobs", "greedy", 6); !d.Deny {
			t.Fatalf("%+v", d)
		}
		runFor(a.gate, 20*time.Second)
		got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=jobs")
		if keys = got.Keys; keys != 4 {
			return
		}
		if got.Offered != 16 || got.Held == nil || got.Held.Most != 4 ||
			math.Abs(got.Held.Mean-2.5) > 1e-9 {
			t.Errorf("%+v, %+v", got, got.Held)
		}
		const denied = 6. / 16
		tried := 0
		for _, row := range got.Rows {
			held, keys := 0.0, 0.0
			for n := int64(1); n <= 4; n++ {
				if n > row.Limit {
					held, keys = held+float64(n-row.Limit)/10, keys+1./4
				}
			}
			if cost := denied + (1-denied)*held; !between(cost, row.Cost, 1e-9) ||
				math.Abs(row.Keys.Low-keys) > 0.001 || row.AtLeast != (row.Limit < 5) {
				t.Errorf("%d places: %+v, want %v of the cost and %v of the keys", row.Limit, row,
					cost, keys)
			}
			tried++
		}
		if last := got.Rows[len(got.Rows)-1]; tried < 3 || last.Limit != 5 ||
			last.Note != "the rule's limit" {
			t.Errorf("%d rows, the last is %+v", tried, last)
		}
	})
	return keys
}

// TestSuggestOfOffered: where denied requests count, whoever goes on asking is denied by each limit
// below what is asked.
func TestSuggestOfOffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := newNodeUnder(t, suggestedKinds)
		for range 120 { // 2 a second
			gatetest.Decide(a.gate, a.gate.Now(), gate.Check, "late", "loud", 1)
			runFor(a.gate, 250*time.Millisecond)
		}
		runFor(a.gate, 20*time.Second)
		got := askFor[api.SuggestView](t, a, "/v1/suggest?rule=late")
		if got.Counts != "offered" || got.Offered != 120 {
			t.Errorf("%+v", got)
		}
		tried := 0
		for _, row := range got.Rows {
			if row.Limit > 15 {
				continue
			}
			tried++
			// once limit requests are in the window none passes any more
			if want := 1 - float64(row.Limit)/120; row.Cost.Low < want-0.2 ||
				row.Cost.High > want+0.05 {
				t.Errorf("limit %d: %+v, want about %v", row.Limit, row, want)
			}
		}
		if tried < 3 {
			t.Errorf("%d rows: %+v", tried, got.Rows)
		}
	})
}

// TestSuggestOfAPool: how busy it was, and what it shed of each tier.
func TestSuggestOfAPool(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	a, room := newNodeUnder(t, suggestedKinds)
	now := a.gate.Now()
	load := func(seconds int, share uint32) {
		for range seconds {
			if share > 0 {
				if err := room.Load(now, []byte("workers"), []byte("w"), share); err != nil {
					t.Fatal(err)
				}
			}
			now = now.Add(time.Second)
			room.Turn(now)
		}
	}
	load(60, 500_000)
	load(3, 930_000) // 0.5, 1, 1.5
	load(1, 600_000)
	load(32, 0) // heard for 10 s more
	v := askFor[api.SuggestView](t, a, "/v1/suggest?rule=workers")
	p := v.Pool
	if v.Kind != "pool" || v.Rule != "workers" || p == nil || p.Heard+p.Silent != 96 ||
		p.Heard < 73 || p.Heard > 75 || p.ShedAbove != 0.85 {
		t.Fatalf("%+v, %+v", v, p)
	}
	for above, want := range map[string]float64{
		"0.50": 1, "0.60": (p.Heard - 60) / p.Heard,
		"0.90": 3 / p.Heard, "0.95": 0,
	} {
		found := false
		for _, row := range p.Busy {
			if fmt.Sprintf("%.2f", row.Above) == above {
				found = true
				if math.Abs(row.Share-want) > 1e-9 {
					t.Errorf("busy from %s: %v of the time, want %v", above, row.Share, want)
				}
			}
		}
		if !found {
			t.Errorf("no row of %s: %+v", above, p.Busy)
		}
	}
	if len(p.Tiers) != 2 || p.Tiers[0].Tier != "test" || p.Tiers[0].Ratio <= p.Tiers[1].Ratio ||
		p.Tiers[1].Ratio <= 0 || p.Shedding < p.Tiers[0].Ratio || p.Shedding > 0.9 {
		t.Errorf("shed %v of the time, %+v", p.Shedding, p.Tiers)
	}
}
