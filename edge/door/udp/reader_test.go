package udp

import (
	"errors"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestReader: a reader works for a Slice, then on a place while other doors are asked, and gives
// the place up when it waits and when they are asked no more.
func TestReader(t *testing.T) {
	turns := uint64(0)
	yields, gave := 0, 0
	share := NewShare(2, func() uint64 { return turns })
	r := share.Reader(func() error { yields++; return nil })
	for _, c := range []struct {
		name  string
		at    time.Duration
		turns uint64
		waits bool
		want  bool // it holds a place
	}{
		{name: "the first batch", at: time.Second, turns: 9},
		{name: "within the slice", at: time.Second + Slice - 1, turns: 9},
		{name: "after it, other doors being asked", at: time.Second + Slice, turns: 9, want: true},
		{name: "the next batch", at: time.Second + Slice + 1, turns: 9, want: true},
		{name: "one that came after a wait", at: time.Second + 3*Slice, turns: 9, waits: true},
		{name: "after its slice", at: time.Second + 4*Slice, turns: 9, want: true},
		{name: "much later", at: 2 * time.Second, turns: 9, want: true}, // a new slice
		{name: "when nobody was asked since", at: 2*time.Second + Slice, turns: 9},
	} {
		if turns = c.turns; c.waits {
			r.Waits()
		}
		gives, err := r.Worked(window.Instant(c.at))
		if err != nil {
			t.Fatal(err)
		}
		if gives {
			gave++
		}
		if taken := len(share.places); taken == 1 != c.want {
			t.Errorf("%s: places taken: %d", c.name, taken)
		}
	}
	if yields != 1 || gave != 3 {
		t.Errorf("it yielded %d times, want once, at the end, and gave way %d times, want 3: by "+
			"two places, too", yields, gave)
	}
	var err error
	at := window.Instant(time.Hour)
	if n := testing.AllocsPerRun(100, func() {
		at += window.Instant(Slice)
		turns++
		_, err = r.Worked(at)
	}); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
	r.Leave()
	if len(share.places) != 0 {
		t.Error("it left with a place")
	}
}

// TestReaderAlone: without other doors a reader only lets others run, and says if it cannot.
func TestReaderAlone(t *testing.T) {
	failing := errors.New("no events")
	alone := (*Share)(nil).Reader(func() error { return failing })
	_, early := alone.Worked(1)
	if _, late := alone.Worked(1 + window.Instant(Slice)); early != nil ||
		!errors.Is(late, failing) {
		t.Errorf("without other doors: %v, then %v", early, late)
	}
}
