package window

import (
	"fmt"
	"testing"
	"time"
)

// TestPausesAreNoFall: a key that pauses for a flush now and then keeps nearly its rate; one that
// stopped has lost it within three flushes.
func TestPausesAreNoFall(t *testing.T) {
	const flush = 100 * time.Millisecond
	key, ring := []byte("k"), map[string]uint64{}
	c := NewSharedCounter(MinMemory, flush)
	c.Configure([]Limit{{
		Name: "r", Limit: 4000, Window: 5 * time.Second,
		Shared: true, Global: true,
	}})
	m, now := c.Meter("r"), Instant(1_800_000_000_000_000_000)
	ask := func(n int) (told float64) {
		for k := range n {
			hit := m.Offer(now, m.Index(key), key, 1, uint64(k))
			m.Admit(now, hit, 1)
		}
		now = now.Add(flush)
		f := Flush{
			Now: now, Interval: flush, Nodes: 2, Room: 100,
			Down: func(int) bool { return false },
		}
		dues, _ := c.Collect(f, nil, nil)
		for n := range dues {
			name := fmt.Sprint(dues[n].Period)
			ring[name] += dues[n].Delta
			if is, ok := c.Merge(f, &dues[n], ring[name], 0); ok {
				told = is.Rate
			}
		}
		return told
	}
	sum := 0.0
	for n := range 600 {
		per := 168 // five flushes of it and one of a single request: 1,400 a second
		if n%6 == 5 {
			per = 1
		}
		if told := ask(per); n >= 300 {
			sum += told / 300
		}
	}
	if sum < 0.9*1400 || sum > 1.02*1400 {
		t.Errorf("told of as %.0f a second, want about 1400", sum)
	}
	for range 20 {
		ask(168)
	}
	if ask(168); ask(1) > 0.7*1680 || ask(1) > 0.45*1680 || ask(1) > 0.3*1680 {
		t.Error("a rate that has fallen is told of as before")
	}
}
