package main

import (
	"math"
	"testing"
	"time"
)

const flush100 = 100 * time.Millisecond

func TestSettles(t *testing.T) {
	for _, c := range []struct {
		limit        int64
		window, want time.Duration
	}{
		{10_000, second, 2 * flush100},
		{3200, second, 500 * time.Millisecond},
		{100, second, second},
		{600, time.Minute, time.Minute},
	} {
		if got := settles(c.limit, c.window, flush100); got != c.want {
			t.Errorf("%d per %v: %v, want %v", c.limit, c.window, got, c.want)
		}
	}
}

// TestRates: after 5,000 a second come 50,000, of which 10,000 are admitted. A boxcar has the whole
// change after its span, a smooth rate two thirds of it.
func TestRates(t *testing.T) {
	box, soft := &boxcar{over: 2 * flush100}, &smooth{settles: 2 * flush100}
	var total tally
	now := time.Duration(0)
	tell := func(offered, admitted int64) {
		now += flush100
		total = total.plus(tally{offered, admitted})
		box.look(now, total)
		soft.look(now, total)
	}
	for range 50 {
		tell(500, 500)
	}
	for _, r := range []rates{box, soft} {
		if offered, admitted := r.rate(); math.Abs(offered-5000) > 1 ||
			math.Abs(admitted-5000) > 1 {
			t.Errorf("%T: %v, %v before", r, offered, admitted)
		}
	}
	tell(5000, 1000)
	tell(5000, 1000)
	if offered, admitted := box.rate(); offered != 50_000 || admitted != 10_000 {
		t.Errorf("boxcar: %v, %v", offered, admitted)
	}
	want := 5000 + 45_000*(1-math.Exp(-1))
	if offered, _ := soft.rate(); math.Abs(offered-want) > 1 {
		t.Errorf("smooth: %v, want %v", offered, want)
	}
	now += 2 * second
	soft.look(now, total)
	if offered, _ := soft.rate(); offered != 0 {
		t.Errorf("smooth: %v after a silence", offered)
	}
}
