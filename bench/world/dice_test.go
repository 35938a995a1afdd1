package main

import (
	"math"
	"testing"
	"time"
)

// moments returns the mean and the variance of the numbers of draw.
func moments(n int, draw func() float64) (mean, variance float64) {
	var sum, squares float64
	for range n {
		x := draw()
		sum, squares = sum+x, squares+x*x
	}
	mean = sum / float64(n)
	return mean, squares/float64(n) - mean*mean
}

func TestArrivalsArePoisson(t *testing.T) {
	const n = 200_000
	for _, mean := range []float64{0, 0.004, 0.5, 3, 16, 17, 166, 500} {
		var a arrivals
		a.set(mean)
		d := newDice(5)
		m, v := moments(n, func() float64 { return float64(a.draw(d.arrivals)) })
		if off := math.Abs(m - mean); off > 5*math.Sqrt(mean/n) {
			t.Errorf("mean %v: drew %v", mean, m)
		}
		if off := math.Abs(v - mean); off > 5*math.Sqrt((2*mean*mean+mean)/n) {
			t.Errorf("mean %v: drew variance %v", mean, v)
		}
	}
}

// TestArrivalsFollowTheMean: the numbers follow a mean that changes, also back to zero.
func TestArrivalsFollowTheMean(t *testing.T) {
	var a arrivals
	d := newDice(6)
	for _, mean := range []float64{100, 0, 1, 0} {
		a.set(mean)
		sum := 0
		for range 1000 {
			sum += a.draw(d.arrivals)
		}
		if got := float64(sum) / 1000; math.Abs(got-mean) > 5*math.Sqrt(mean/1000) {
			t.Errorf("mean %v: drew %v", mean, got)
		}
	}
}

// TestSheddingIsBinomial: the model's limiter admits 1-p of a tick's requests, each by its own
// coin.
func TestSheddingIsBinomial(t *testing.T) {
	w := &world{dice: newDice(7)}
	for _, p := range []float64{0, 0.2, 0.8, 0.99} {
		m := &model{ratio: ratioOf(p)}
		const n, runs = 50, 20_000
		mean, variance := moments(runs,
			func() float64 { return float64(m.decide(w, nil, n).admitted) })
		want, spread := n*(1-p), n*p*(1-p)
		if math.Abs(mean-want) > 5*math.Sqrt(spread/runs)+1e-9 {
			t.Errorf("ratio %v: %v of %d admitted", p, mean, n)
		}
		if math.Abs(variance-spread) > 0.08*spread+1e-9 {
			t.Errorf("ratio %v: variance %v, want %v", p, variance, spread)
		}
	}
}

func TestZipf(t *testing.T) {
	shares, sum := zipf(50), 0.0
	for k, s := range shares {
		sum += s
		if ratio := shares[0] / s; math.Abs(ratio-float64(k+1)) > 1e-9 {
			t.Errorf("the first has %v times the share of number %d", ratio, k+1)
		}
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("shares add up to %v", sum)
	}
}

func TestDelays(t *testing.T) {
	d := newDice(8)
	all := delays(append(scatter(50, d.places), place{0, 0}, place{1, 1}, place{1, 1}))
	for a := range all {
		for b, delay := range all[a] {
			switch {
			case delay != all[b][a]:
				t.Errorf("%d to %d takes %v, back %v", a, b, delay, all[b][a])
			case a == b && delay != within:
				t.Errorf("inside %d: %v", a, delay)
			case a != b && (delay < nearest || delay > farthest):
				t.Errorf("%d to %d: %v", a, b, delay)
			}
		}
	}
	if all[50][51] != farthest || all[51][52] != nearest {
		t.Errorf("from corner to corner %v, on the spot %v", all[50][51], all[51][52])
	}
	if all[0][50] > all[0][52]+all[52][50] {
		t.Error("a detour is shorter")
	}
	if a, b := newWorld(lonelyFleet(10, 5), steady(5, 0)),
		newWorld(lonelyFleet(10, 5), steady(5, 0)); a.delays[1][2] != b.delays[1][2] {
		t.Error("the same seed makes different worlds")
	}
}

func TestQueueKeepsOrder(t *testing.T) {
	d, q := newDice(9), queue{}
	var last time.Duration
	var order uint64
	for n := range 5000 {
		q.put(event{at: last + time.Duration(d.network.IntN(20))})
		if n%3 == 2 {
			e, ok := q.due(last + 10)
			if !ok {
				continue
			}
			if e.at < last || e.at == last && e.order < order {
				t.Fatalf("after %v comes %v", last, e.at)
			}
			last, order = e.at, e.order
		}
	}
	for want := len(q.heap); want > 0; want-- {
		e, ok := q.due(never)
		if !ok || e.at < last || e.at == last && e.order < order {
			t.Fatalf("after %v/%d comes %v/%d, %v", last, order, e.at, e.order, ok)
		}
		last, order = e.at, e.order
	}
	if _, ok := q.due(never); ok {
		t.Error("an empty queue has something due")
	}
}
