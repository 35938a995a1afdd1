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

// event is a request of a random stream.
type event struct {
	at   window.Instant
	key  string
	took time.Duration
}

// stream returns n requests of few keys, which come in bursts, with times of their own.
func stream(seed uint64, n int) (all []event) {
	chance := rand.New(rand.NewPCG(seed, 16))
	now := window.Instant(1e18)
	for range n {
		if chance.IntN(4) == 0 {
			now = now.Add(time.Duration(chance.IntN(3000)) * time.Millisecond)
		}
		all = append(all, event{
			now, fmt.Sprint(chance.IntN(5)),
			time.Duration(chance.IntN(8)) * 500 * time.Millisecond,
		})
	}
	return all
}

// TestPlacesAreExact: for each limit, what Places counts is what a limiter of that limit denies.
func TestPlacesAreExact(t *testing.T) {
	for seed := range uint64(8) {
		events := stream(seed, 400)
		p := whatif.NewPlaces()
		for _, e := range events {
			p.Take(e.at, []byte(e.key), e.took)
		}
		if all, leftOut := p.Requests(); all != 400 || leftOut != 0 || p.Keys() != 5 {
			t.Fatalf("%d requests, %d left out, %d keys", all, leftOut, p.Keys())
		}
		for limit := int64(1); limit <= p.Highest()+1; limit++ {
			want, struck := int64(0), map[string]bool{}
			held := map[string][]window.Instant{}
			for _, e := range events {
				var live []window.Instant
				for _, until := range held[e.key] {
					if until > e.at {
						live = append(live, until)
					}
				}
				if int64(len(live)) >= limit {
					want++
					struck[e.key] = true
				} else {
					live = append(live, e.at.Add(e.took))
				}
				held[e.key] = live
			}
			if got := p.Row(limit); got != (whatif.Row{
				Limit: limit, Requests: want,
				Keys: int64(len(struck)),
			}) {
				t.Fatalf("seed %d, limit %d: %+v, want %d requests of %d keys", seed, limit,
					got, want, len(struck))
			}
			if share := (float64(want) + 0.5) / 400; p.Least(share) > limit {
				t.Fatalf("seed %d: least of %v is %d, but %d does", seed, share,
					p.Least(share), limit)
			}
		}
		if p.Row(p.Highest()).Requests != 0 || p.Row(p.Highest()-1).Requests == 0 {
			t.Fatalf("seed %d: highest %d", seed, p.Highest())
		}
	}
}

// TestBurstsAreExact: for each burst, what Bursts counts is what a bucket of that burst denies, has
// wait and blocks.
func TestBurstsAreExact(t *testing.T) {
	for seed := range uint64(8) {
		rule := whatif.Rule{
			Limit: 7, Window: 3 * time.Second, Burst: 33,
			Delay:    []time.Duration{0, 900 * time.Millisecond}[seed%2],
			BlockFor: []time.Duration{0, 4 * time.Second}[seed/2%2],
		}
		var all []request
		x := whatif.NewBursts(rule)
		for _, e := range stream(seed, 400) {
			x.Take(e.at, []byte(e.key))
			all = append(all, request{e.at, e.key})
		}
		tried, waits := 0, int64(0)
		for _, burst := range whatif.Ladder(33, 64) {
			if _, ok := bucket.New(7, 3*time.Second, burst); !ok {
				continue
			}
			tried++
			want := bruteForce(t, rule, burst, all)
			if got := x.Row(burst); got != want {
				t.Fatalf("seed %d, burst %d: %+v, want %+v", seed, burst, got, want)
			}
			waits += want.Waits
		}
		if tried < 30 || x.Row(x.Highest()).Requests != 0 || x.Keys() != 5 || x.Least(1) != 1 ||
			(waits > 0) != (rule.Delay > 0) {
			t.Fatalf("seed %d: %d tried, highest %d, %d keys, %d waits", seed, tried,
				x.Highest(), x.Keys(), waits)
		}
	}
}

// TestBurstsStayWithinADay: bursts that fill in more than a day are not tried.
func TestBurstsStayWithinADay(t *testing.T) {
	x := whatif.NewBursts(whatif.Rule{Limit: 1, Window: time.Hour, Burst: 3})
	now := window.Instant(1e18)
	for range 100 {
		x.Take(now, []byte("k"))
	}
	if x.Highest() != 20 || x.Row(20).Requests != 80 || x.Row(3).Requests != 97 {
		t.Errorf("highest %d, %+v, %+v", x.Highest(), x.Row(20), x.Row(3))
	}
}
