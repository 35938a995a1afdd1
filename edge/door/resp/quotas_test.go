package resp

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestQuotas: the set of numbers that was unused longest gives way.
func TestQuotas(t *testing.T) {
	t.Parallel()
	var q quotas
	at := window.Instant(time.Hour)
	known := func(burst int64) bool {
		for i := range q.all {
			if set := q.all[i].Load(); set != nil && set.maxBurst == burst {
				return true
			}
		}
		return false
	}
	call := func(burst int64) {
		at += window.Instant(2 * slack)
		if set, err := q.of(numbers{burst, 1, 1}, at); err != nil || set == nil {
			t.Fatal(burst, err)
		}
	}
	for i := range int64(maxQuotas) {
		call(i)
	}
	call(0) // now 1 is the longest unused
	call(maxQuotas)
	if !known(0) || known(1) || !known(2) || !known(maxQuotas) || q.displaced.Load() != 1 {
		t.Errorf("0 %t, 1 %t, 2 %t, the new one %t; %d displaced", known(0), known(1), known(2),
			known(maxQuotas), q.displaced.Load())
	}
	if _, err := q.of(numbers{0, 0, 1}, at); err == nil || q.displaced.Load() != 1 {
		t.Errorf("numbers out of range: %v, %d displaced", err, q.displaced.Load())
	}
}
