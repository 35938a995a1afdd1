package resp

import (
	"errors"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestQuotas: a set of numbers holds its place while a key of it has a TAT ahead, and hardly longer. A look holds none.
func TestQuotas(t *testing.T) {
	t.Parallel()
	var q quotas
	at := window.Instant(time.Hour)
	take := func(burst int64, reset time.Duration) error {
		set, err := q.of(numbers{burst, 1, 1}, at)
		if err == nil {
			set.note(at, reset)
		}
		return err
	}
	for i := range int64(2 * maxQuotas) { // looks at keys that have everything
		if err := take(i, 0); err != nil {
			t.Fatalf("look %d: %v", i, err)
		}
	}
	for i := range int64(maxQuotas) {
		if err := take(i, time.Second); err != nil {
			t.Fatalf("set %d: %v", i, err)
		}
	}
	at += window.Instant(time.Second - time.Millisecond)
	if err := take(maxQuotas, time.Second); !errors.Is(err, errQuotas) {
		t.Errorf("a millisecond before the first is over: %v", err)
	}
	if err := take(0, 0); err != nil { // it is known, and a look makes it no longer
		t.Error(err)
	}
	at += window.Instant(time.Millisecond + slack)
	for i := range int64(maxQuotas) {
		if err := take(maxQuotas+i, time.Second); err != nil {
			t.Errorf("set %d after all are over: %v", i, err)
		}
	}
	if slack > 10*time.Millisecond {
		t.Errorf("sets are held for %v too long", slack)
	}
}
