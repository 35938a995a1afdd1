package window

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// Keys are counted from a limit's first one on, though most limits have no memory for it before.
// Where many begin at once some wait for the next sweep. No request allocates.
func TestKeyCountsBeginWithAKey(t *testing.T) {
	limits := make([]Limit, 2*mostSpares)
	for i := range limits {
		limits[i] = Limit{Name: fmt.Sprint(i), Limit: 1000, Window: time.Minute}
	}
	c := newTestCounter(t, 1<<20, limits...)
	counted := func() (n int) {
		for i := range limits {
			if met, _ := c.Meter(limits[i].Name).Keys(); math.Round(met) > 0 {
				n++
			}
		}
		return n
	}
	next, key := 0, []byte("a key")
	if n := testing.AllocsPerRun(mostSpares, func() {
		m := c.Meter(limits[next%len(limits)].Name)
		m.Offer(start, m.Index(key), key, 1, 0)
		next++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := counted(); n != mostSpares {
		t.Errorf("%d of %d rules count keys, with %d spares", n, len(limits), mostSpares)
	}
	c.Sweep(start)
	for i := range limits {
		m := c.Meter(limits[i].Name)
		m.Offer(start, m.Index([]byte("another")), []byte("another"), 1, 0)
	}
	if n := counted(); n != len(limits) {
		t.Errorf("%d of %d rules count keys after a sweep", n, len(limits))
	}
}
