package whatif_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/whatif"
)

// TestLooksAtBucketsBoundTheTruth: with room for all keys, the refusals of each burst, and the keys
// that it refuses, lie between the bounds, whatever the rule's own burst is, with a queue and
// without.
func TestLooksAtBucketsBoundTheTruth(t *testing.T) {
	t.Parallel()
	compared, tight := 0, 0
	for seed := range uint64(6) {
		for _, rule := range []whatif.Rule{
			{Limit: 2, Window: time.Second, Burst: 8},
			{Limit: 7, Window: 3 * time.Second, Burst: 33},
			{Limit: 1, Window: time.Second, Burst: 300},
			{Limit: 2, Window: time.Second, Burst: 8, Delay: 1700 * time.Millisecond},
		} {
			stream := traffic(seed, 10*time.Second)
			n := newNode(t, rule, 1<<20, stream[0].at)
			for _, r := range stream {
				n.take(r)
			}
			n.end()
			name := fmt.Sprintf("seed %d, %+v", seed, rule)
			if n.sample.Late() != 0 {
				t.Errorf("%s: %d late", name, n.sample.Late())
			}
			// what is back before the next look
			unseen := int64(n.half.Seconds()*float64(rule.Limit)/rule.Window.Seconds()) + 1
			for _, e := range n.sample.Estimates() {
				want := bruteForce(t, rule, e.Limit, stream)
				if e.Limit < unseen {
					if got := float64(want.Requests); got < e.Cost.Low ||
						float64(want.Keys) < e.Keys.Low {
						t.Errorf("%s, burst %d: %+v refused, fewer than %+v", name, e.Limit, want,
							e)
					}
					continue
				}
				if got := float64(want.Requests); got < e.Cost.Low || got > e.Cost.High {
					t.Errorf("%s, burst %d: %v requests refused, not between %+v", name, e.Limit,
						got, e.Cost)
				}
				if got := float64(want.Keys); got < e.Keys.Low || got > e.Keys.High {
					t.Errorf("%s, burst %d: %v keys refused, not between %+v", name, e.Limit, got,
						e.Keys)
				}
				if compared++; e.Limit >= rule.Burst/2 &&
					e.Cost.High-e.Cost.Low <= 0.1*float64(len(stream)) {
					tight++
				}
			}
			if want := bruteForce(t, rule, rule.Burst, stream); want.Requests != n.refused {
				t.Errorf("%s: the node refused %d, one by one %d", name, n.refused, want.Requests)
			}
		}
	}
	if compared < 150 || tight < 60 {
		t.Errorf("%d compared, %d of them within a tenth of the requests", compared, tight)
	}
}

// TestABucketThatIsNotAsked: a key comes back after its slot was given up, and its bucket is full
// then.
func TestABucketThatIsNotAsked(t *testing.T) {
	t.Parallel()
	rule := whatif.Rule{Limit: 10, Window: time.Second, Burst: 20}
	start := window.Instant(1_700_000_000 * time.Second)
	n := newNode(t, rule, 1<<20, start)
	var stream []request
	for round := range 3 {
		for range 15 {
			stream = append(stream, request{start.Add(time.Duration(round) * time.Hour), "k"})
		}
	}
	for _, r := range stream {
		n.take(r)
	}
	n.end()
	if got := n.sample.Demand(); got < 42 || got > 48 {
		t.Errorf("%v asked for, want about 45", got)
	}
	for _, e := range n.sample.Estimates() {
		if want := float64(3 * max(0, 15-e.Limit)); e.Cost.Low > want || e.Cost.High < want ||
			want > 0 && e.Cost.Low < want-6 {
			t.Errorf("burst %d: %+v, want %v", e.Limit, e.Cost, want)
		}
	}
}
