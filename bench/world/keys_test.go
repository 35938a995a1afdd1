package main

import (
	"testing"
	"time"
)

// TestManyKeys: the daemon's own exchange of counts holds all of many keys at twice a limit of 5
// per 10 s, and denies no client at 0.8 of it. One exact log of all PoPs denies 0.50 in the first
// 10 s.
func TestManyKeys(t *testing.T) {
	w, c := newCrowd(fleet{
		flush: 100 * time.Millisecond, batch: 50 * time.Millisecond, seed: 7,
		loop: newLoop,
	}, 400)
	w.run(20 * second)
	if first, later := w.record.dropped(0, 10*second),
		w.record.dropped(10*second, 20*second); first < 0.44 || first > 0.52 ||
		later < 0.44 || later > 0.58 {
		t.Errorf("%.3f are denied in the first 10 s and %.3f in the next", first, later)
	}
	if c.asked == 0 || c.denied > 0 {
		t.Errorf("%d of %d requests of clients at 0.8 are denied", c.denied, c.asked)
	}
}
