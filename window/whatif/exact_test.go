package whatif_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/bucket"
	"github.com/headgate-dev/headgate/window/whatif"
)

// request is one of a stream.
type request struct {
	at  window.Instant
	key string
}

// limiter is one limit, by the definition: every admission of every key with its time, and blocks.
// It knows nothing of seats, slices or samples.
type limiter struct {
	rule     whatif.Rule
	limit    int
	admitted map[string][]window.Instant
	blocked  map[string]window.Instant
}

// refuses decides one request.
func (l *limiter) refuses(r request) bool {
	if r.at < l.blocked[r.key] {
		return true
	}
	in := 0
	for _, at := range l.admitted[r.key] {
		if at > r.at.Add(-l.rule.Window) {
			in++
		}
	}
	if in+1 <= l.limit {
		l.admitted[r.key] = append(l.admitted[r.key], r.at)
		return false
	}
	if l.rule.BlockFor > 0 {
		l.blocked[r.key] = r.at.Add(l.rule.BlockFor)
	}
	if l.rule.Offered { // up to one limit
		l.admitted[r.key] = append(l.admitted[r.key], r.at)[len(l.admitted[r.key])+1-l.limit:]
	}
	return true
}

// tank is one burst, by the arithmetic of buckets: what a request of a key does at a moment.
type tank struct {
	b    bucket.Bucket
	rule whatif.Rule
	tats map[string]bucket.TAT
	stop map[string]window.Instant
}

func newTank(t testing.TB, rule whatif.Rule, burst int64) *tank {
	b, ok := bucket.New(rule.Limit, rule.Window, burst)
	if !ok {
		t.Fatalf("no bucket of %d", burst)
	}
	return &tank{b, rule, map[string]bucket.TAT{}, map[string]window.Instant{}}
}

// take decides one request: whether it is refused, else how long it waits.
func (l *tank) take(r request) (refused bool, wait time.Duration) {
	if r.at < l.stop[r.key] {
		return true, 0
	}
	wait, next, ok := l.b.Reserve(l.tats[r.key], int64(r.at), 1, l.rule.Delay)
	l.tats[r.key] = next
	if !ok && l.rule.BlockFor > 0 {
		l.stop[r.key] = r.at.Add(l.rule.BlockFor)
	}
	return !ok, wait
}

// bruteForce tries one limit on a stream of requests.
func bruteForce(t testing.TB, rule whatif.Rule, limit int64, stream []request) whatif.Row {
	l := limiter{rule, int(limit), map[string][]window.Instant{}, map[string]window.Instant{}}
	row, keys := whatif.Row{Limit: limit}, map[string]bool{}
	refuses := l.refuses
	if rule.Burst > 0 {
		b := newTank(t, rule, limit)
		refuses = func(r request) bool {
			refused, wait := b.take(r)
			if wait > 0 && !refused {
				row.Waits++
			}
			return refused
		}
	}
	for _, r := range stream {
		if refuses(r) {
			row.Requests++
			keys[r.key] = true
		}
	}
	row.Keys = int64(len(keys))
	return row
}

// traffic is a stream of bursts and quiet, of a few keys, some at the same tick and some exactly a
// window apart.
func traffic(seed uint64, over time.Duration) (stream []request) {
	rng := rand.New(rand.NewPCG(seed, 4290))
	now := window.Instant(1_700_000_000 * time.Second)
	for len(stream) < 800 {
		switch rng.IntN(12) {
		case 0:
			now = now.Add(over)
		case 1:
			now = now.Add(time.Duration(rng.Int64N(int64(2 * over))))
		case 2, 3, 4:
			now = now.Add(time.Duration(rng.Int64N(int64(over/8))) / time.Duration(1+rng.IntN(3)))
		}
		now = now - now%window.Instant(time.Microsecond)
		stream = append(stream, request{now, fmt.Sprint(rng.IntN(1 + rng.IntN(5)))})
	}
	return stream
}

// TestExactAgreesWithEveryLimitByItself holds all limits that a stream can tell apart to a limiter
// each.
func TestExactAgreesWithEveryLimitByItself(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		rule := whatif.Rule{Limit: 5, Window: 10 * time.Second, Offered: seed >= 6}
		stream := traffic(seed, rule.Window)
		x := whatif.NewExact(rule)
		for _, r := range stream {
			x.Take(r.at, []byte(r.key))
		}
		for limit := int64(1); limit <= x.Highest()+1; limit++ {
			if got, want := x.Row(limit), bruteForce(t, rule, limit, stream); got != want {
				t.Fatalf("seed %d: %+v, one by one %+v", seed, got, want)
			}
		}
		if last := x.Row(x.Highest() - 1); last.Requests == 0 || x.Row(x.Highest()).Requests != 0 {
			t.Errorf("seed %d: %d is not the least limit that refuses nothing", seed, x.Highest())
		}
		for _, share := range []float64{0, 0.001, 0.01, 0.05, 0.5, 1} {
			least := x.Least(share)
			most := int64(share * float64(len(stream)))
			if x.Row(least).Requests > most || least > 1 && x.Row(least-1).Requests <= most {
				t.Errorf("seed %d: %d is not the least limit that refuses at most %v", seed, least,
					share)
			}
		}
	}
}

// TestExactOfRulesThatBlock: once refused, refused for a while, and each limit goes its own way.
func TestExactOfRulesThatBlock(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		rule := whatif.Rule{
			Limit: 7, Window: 10 * time.Second,
			BlockFor: time.Duration(1+seed%6) * 3 * time.Second, Offered: seed >= 6,
		}
		stream := traffic(seed, rule.Window)
		x := whatif.NewExact(rule)
		for _, r := range stream {
			x.Take(r.at, []byte(r.key))
		}
		for _, limit := range append(whatif.Ladder(rule.Limit, 20), x.Highest()) {
			if got, want := x.Row(limit), bruteForce(t, rule, limit, stream); got != want {
				t.Fatalf("seed %d: %+v, one by one %+v", seed, got, want)
			}
		}
		if least := x.Least(0.01); x.Row(least).Requests > int64(len(stream)/100) {
			t.Errorf("seed %d: %d refuses more than 1 %%: %+v", seed, least, x.Row(least))
		}
	}
}

// TestExactTakesTimeAsItComes: a time that goes back is read as the newest, and a unit exactly one
// window old is out.
func TestExactTakesTimeAsItComes(t *testing.T) {
	t.Parallel()
	x := whatif.NewExact(whatif.Rule{Limit: 1, Window: time.Second})
	for _, at := range []time.Duration{
		2 * time.Second, time.Second, 3 * time.Second,
		3*time.Second + 999_999*time.Microsecond,
	} {
		x.Take(window.Instant(at), []byte("a"))
	}
	if got := x.Row(1); got.Requests != 2 || got.Keys != 1 {
		t.Errorf("%+v, want the second and the fourth refused", got)
	}
	if all, untold := x.Requests(); all != 4 || untold != 0 || x.Keys() != 1 {
		t.Errorf("%d requests, %d untold, %d keys", all, untold, x.Keys())
	}
}

// TestExactOfABlockThatEnds: at its end to the tick, and not before, a key is judged anew.
func TestExactOfABlockThatEnds(t *testing.T) {
	t.Parallel()
	x := whatif.NewExact(whatif.Rule{Limit: 1, Window: 2 * time.Second, BlockFor: 3 * time.Second})
	for _, at := range []time.Duration{
		0, time.Second, 4*time.Second - time.Microsecond,
		4 * time.Second,
	} {
		x.Take(window.Instant(at), []byte("a"))
	}
	if got := x.Row(1); got.Requests != 2 || got.Keys != 1 {
		t.Errorf("%+v, want the second and the third refused", got)
	}
}

// TestShown: a table is short, and holds the limits that stand out.
func TestShown(t *testing.T) {
	t.Parallel()
	notes := whatif.Notes(42, 386,
		func(share float64) int64 { return map[float64]int64{0.05: 42, 0.01: 120}[share] })
	got := fmt.Sprint(whatif.Shown(386, notes))
	if want := "[1 2 5 10 20 42 50 100 120 200 386]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if notes[42] != "the rule's limit, at most 5 %" || notes[386] != "denies nothing" {
		t.Errorf("%v", notes)
	}
	for own, want := range map[int64]int{1: 64, 7: 64, 1_000_000_000: 64} {
		ladder := whatif.Ladder(own, 64)
		for n, limit := range ladder {
			if n > 0 && limit <= ladder[n-1] {
				t.Errorf("ladder of %d: %d after %d", own, limit, ladder[n-1])
			}
		}
		if len(ladder) != want {
			t.Errorf("ladder of %d has %d limits", own, len(ladder))
		}
	}
}

func BenchmarkExact(b *testing.B) {
	rule := whatif.Rule{Limit: 100, Window: time.Minute}
	x, now := whatif.NewExact(rule), window.Instant(0)
	keys := make([][]byte, 10_000)
	for k := range keys {
		keys[k] = fmt.Appendf(nil, "198.51.%d.%d", k/250, k%250)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(rng, 1.1, 1, uint64(len(keys)-1))
	for b.Loop() {
		now = now.Add(time.Millisecond)
		x.Take(now, keys[z.Uint64()])
	}
}
