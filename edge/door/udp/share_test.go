package udp

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestShareNeedsPlaces: readers need places for YieldedFor a turn of another door, and never longer
// than YieldedMost after the last look.
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
		{"one turn", time.Second + Slice, 1, true},
		{"the rest of its time", time.Second + Slice + YieldedFor - 1, 1, true},
		{"its time is over", time.Second + Slice + YieldedFor, 1, false},
		{
			"a turn since the last look, which is too short ago",
			time.Second + Slice + YieldedFor + 1, 2, false,
		},
		{"the next look", 2 * time.Second, 2, true},
		{"two turns more add up", 2*time.Second + Slice, 4, true},
		{"to three in all", 2*time.Second + 3*YieldedFor - 1, 4, true},
		{"and not more", 2*time.Second + 3*YieldedFor, 4, false},
		{"very many turns", 3 * time.Second, 1 << 40, true},
		{"and as many again", 3*time.Second + Slice, math.MaxUint64, true},
		{"have a bound", 3*time.Second + Slice + YieldedMost - 1, math.MaxUint64, true},
		{"which is YieldedMost", 3*time.Second + Slice + YieldedMost, math.MaxUint64, false},
	} {
		turns = c.turns
		if got := s.needed(window.Instant(c.at)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	var none *Share
	if none.needed(1) || NewShare(1,
		func() uint64 { t.Error("asked in vain"); return 9 }).needed(window.Instant(time.Second)) {
		t.Error("places where there are none")
	}
}

// work has a new reader of s answer batches without a wait, until it has let others run.
func work(t *testing.T, s *Share, yield func() error) *Reader {
	t.Helper()
	r := s.Reader(yield)
	for _, at := range []time.Duration{time.Second, time.Second + Slice} {
		if _, err := r.Worked(window.Instant(at)); err != nil {
			t.Error(err)
		}
	}
	return &r
}

// asked are turns of other doors: one.
func asked() uint64 { return 1 }

// TestSharePlaces: while other doors are asked half of the processors have a place each, and the
// other readers wait; on a single one they yield instead.
func TestSharePlaces(t *testing.T) {
	t.Parallel()
	const readers = 20
	for processors, want := range map[int]int64{1: 0, 2: 1, 3: 1, 4: 2, 16: 8} {
		synctest.Test(t, func(t *testing.T) {
			s, done := NewShare(processors, asked), make(chan struct{})
			var on, yielded atomic.Int64
			// Who looks while another reader does may not see yet that places are needed, and
			// yields once more.
			s.needed(window.Instant(time.Second + Slice))
			for range readers {
				go func() {
					r := work(t, s, func() error { yielded.Add(1); return nil })
					on.Add(1)
					<-done
					r.Leave()
				}()
			}
			synctest.Wait()
			if got := on.Load() - yielded.Load(); got != want || want > 0 && yielded.Load() > 0 {
				t.Errorf("%d readers have places of %d processors, want %d; %d yielded", got,
					processors, want, yielded.Load())
			}
			close(done)
			synctest.Wait()
			if got := on.Load(); got != readers {
				t.Errorf("%d readers of %d went on in the end", got, readers)
			}
		})
	}
}

// TestShareInTurns: who waits for a place gets it in turns.
func TestShareInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewShare(2, asked)
		first := work(t, s, nil)
		var order []int
		for n := range 3 {
			go func() {
				r := work(t, s, nil)
				order = append(order, n)
				r.Leave()
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("%v work beside the one place", order)
		}
		first.Leave()
		synctest.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("they came in order %v", order)
		}
	})
}
