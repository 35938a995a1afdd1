package live

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// join adds a reader that leaves with the test, and returns it with a counter of how often it was
// unblocked.
func join(t testing.TB, h *Hub, watches bool) (*Reader, *atomic.Int64) {
	t.Helper()
	var unblocked atomic.Int64
	r, err := h.Join(watches, func() { unblocked.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Leave)
	return r, &unblocked
}

// waiting returns the frames in r's queue, without waiting for more.
func waiting(r *Reader) (frames []string, ended bool) {
	for {
		select {
		case frame, more := <-r.Frames():
			if !more {
				return frames, true
			}
			frames = append(frames, string(frame))
		default:
			return frames, false
		}
	}
}

func check(t *testing.T, r *Reader, wantEnded bool, want ...string) {
	t.Helper()
	got, ended := waiting(r)
	if !slices.Equal(got, want) || ended != wantEnded {
		t.Fatalf("%q, ended %v; want %q, %v", got, ended, want, wantEnded)
	}
}

// TestHubSharesFrames checks that every reader gets the very frame that was sent, not a copy.
func TestHubSharesFrames(t *testing.T) {
	t.Parallel()
	var h Hub
	var all []*Reader
	for range MaxReaders {
		r, _ := join(t, &h, true)
		all = append(all, r)
	}
	event, picture := []byte("event"), []byte("picture")
	h.Send(event)
	h.Show(picture)
	for _, r := range all {
		if first, second := <-r.Frames(), <-r.Frames(); &first[0] != &event[0] ||
			&second[0] != &picture[0] {
			t.Fatalf("copies: %q, %q", first, second)
		}
	}
}

// TestHubPictures checks that only those who watch get pictures, and the last one at once.
func TestHubPictures(t *testing.T) {
	t.Parallel()
	var h Hub
	plain, _ := join(t, &h, false)
	early, _ := join(t, &h, true)
	h.Show([]byte("one"))
	h.Send([]byte("event"))
	late, _ := join(t, &h, true)
	check(t, plain, false, "event")
	check(t, early, false, "one", "event")
	check(t, late, false, "one")
	h.Show(nil)
	later, _ := join(t, &h, true)
	check(t, later, false)
	h.Show([]byte("two"))
	check(t, later, false, "two")
	if s := h.Stats(); s.Readers != 4 || s.Watchers != 3 {
		t.Errorf("%+v", s)
	}
	later.Leave()
	later.Leave()
	if s := h.Stats(); s.Readers != 3 || s.Watchers != 2 || s.Cut != 0 {
		t.Errorf("after one left: %+v", s)
	}
}

// TestHubCutsTheSlow checks that a reader whose queue is full is cut, unblocked once, and holds up
// nobody.
func TestHubCutsTheSlow(t *testing.T) {
	t.Parallel()
	var h Hub
	slow, unblocked := join(t, &h, true)
	quick, quickUnblocked := join(t, &h, true)
	for range QueueFrames {
		h.Send([]byte("event"))
		check(t, quick, false, "event")
	}
	if unblocked.Load() != 0 || slow.Gone() {
		t.Error("cut with its queue just full")
	}
	h.Send([]byte("more"))
	check(t, quick, false, "more")
	h.Send([]byte("and more"))
	check(t, quick, false, "and more")
	if !slow.Gone() || unblocked.Load() != 1 || quick.Gone() || quickUnblocked.Load() != 0 {
		t.Errorf("slow: gone %v, unblocked %d times; quick: %v, %d", slow.Gone(), unblocked.Load(),
			quick.Gone(), quickUnblocked.Load())
	}
	if frames, ended := waiting(slow); len(frames) != QueueFrames || !ended {
		t.Errorf("%q, ended %v", frames, ended)
	}
	if s := h.Stats(); s.Cut != 1 || s.Readers != 1 || s.Watchers != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHubBounds checks that there are no more readers than there may be, and that a place that is
// given up is taken again.
func TestHubBounds(t *testing.T) {
	t.Parallel()
	var h Hub
	var last *Reader
	for range MaxReaders {
		last, _ = join(t, &h, false)
	}
	if _, err := h.Join(true, func() {}); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if s := h.Stats(); s.Readers != MaxReaders || s.Watchers != 0 || s.Refused != 1 {
		t.Errorf("%+v", s)
	}
	last.Leave()
	join(t, &h, false)
}

// TestHubCloses checks that closing ends every stream and lets nobody join.
func TestHubCloses(t *testing.T) {
	t.Parallel()
	var h Hub
	one, unblocked := join(t, &h, true)
	two, _ := join(t, &h, false)
	h.Send([]byte("event"))
	h.Close()
	h.Close()
	h.Send([]byte("nobody hears it"))
	check(t, one, true, "event")
	check(t, two, true, "event")
	if unblocked.Load() != 1 || !one.Gone() {
		t.Errorf("unblocked %d times", unblocked.Load())
	}
	if _, err := h.Join(false, func() {}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if s := h.Stats(); s.Cut != 0 || s.Readers != 0 {
		t.Errorf("%+v", s)
	}
}

// TestHubConcurrently has readers come, read and go while frames are sent and the hub closes: each
// sees frames in order, and its stream ends.
func TestHubConcurrently(t *testing.T) {
	t.Parallel()
	var h Hub
	var working sync.WaitGroup
	for range 2 * MaxReaders {
		working.Go(func() {
			r, err := h.Join(true, func() {})
			if err != nil {
				return
			}
			defer r.Leave()
			was := byte(0)
			for frame := range r.Frames() {
				if frame[0] < was {
					t.Errorf("%d after %d", frame[0], was)
				}
				was = frame[0]
			}
		})
	}
	for n := range byte(200) {
		h.Send([]byte{n})
		h.Show([]byte{n})
	}
	h.Close()
	working.Wait()
	if s := h.Stats(); s.Readers != 0 || s.Watchers != 0 {
		t.Errorf("%+v", s)
	}
}

// BenchmarkHub sends one frame to as many readers as there may be.
func BenchmarkHub(b *testing.B) {
	var h Hub
	var all []*Reader
	for range MaxReaders {
		r, _ := join(b, &h, false)
		all = append(all, r)
	}
	frame := make([]byte, 64<<10)
	for b.Loop() {
		h.Send(frame)
		for _, r := range all {
			<-r.Frames()
		}
	}
}
