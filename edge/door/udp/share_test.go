package udp

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestShareNeedsPlaces: readers need places for yieldedFor a turn of another door, and never longer than
// yieldedMost after the last look.
func TestShareNeedsPlaces(t *testing.T) {
	t.Parallel()
	turns := uint64(0)
	s := NewShare(2, func() uint64 { return turns })
	for _, c := range []struct {
		name  string
		at    time.Duration // since the begin
		turns uint64
		want  bool
	}{
		{"nobody was asked", time.Second, 0, false},
		{"one turn", time.Second + slice, 1, true},
		{"the rest of its time", time.Second + slice + yieldedFor - 1, 1, true},
		{"its time is over", time.Second + slice + yieldedFor, 1, false},
		{"a turn since the last look, which is too short ago", time.Second + slice + yieldedFor + 1, 2, false},
		{"the next look", 2 * time.Second, 2, true},
		{"two turns more add up", 2*time.Second + slice, 4, true},
		{"to three in all", 2*time.Second + 3*yieldedFor - 1, 4, true},
		{"and not more", 2*time.Second + 3*yieldedFor, 4, false},
		{"very many turns", 3 * time.Second, 1 << 40, true},
		{"and as many again", 3*time.Second + slice, math.MaxUint64, true},
		{"have a bound", 3*time.Second + slice + yieldedMost - 1, math.MaxUint64, true},
		{"which is yieldedMost", 3*time.Second + slice + yieldedMost, math.MaxUint64, false},
	} {
		turns = c.turns
		if got := s.needed(window.Instant(c.at)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	var none *Share
	if none.needed(1) || NewShare(1, func() uint64 { t.Error("asked in vain"); return 9 }).needed(window.Instant(time.Second)) {
		t.Error("places where there are none")
	}
}

// TestSharePlaces: half of the processors have a place, and who waits for one gets it in turns.
func TestSharePlaces(t *testing.T) {
	t.Parallel()
	for processors, want := range map[int]int{1: 0, 2: 1, 3: 1, 4: 2, 16: 8} {
		if got := cap(NewShare(processors, nil).places); got != want {
			t.Errorf("%d places for %d processors, want %d", got, processors, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := NewShare(2, nil)
		s.enter()
		var order []int
		for n := range 3 {
			go func() {
				s.enter()
				order = append(order, n)
				s.leave()
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("%v work beside the one place", order)
		}
		s.leave()
		synctest.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("they came in order %v", order)
		}
	})
}
