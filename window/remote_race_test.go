package window

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Remote cost of different keys that is merged at once, from other PoPs and by the flusher, is not
// mixed up: each key's counts leave the window at their own time.
func TestMergedAtOnceIsNotMixedUp(t *testing.T) {
	const keys, each = 4, 500
	_, m := worldCounter(1000, time.Second)
	period := m.period(start.Add(time.Second), 0)
	begins := m.begins(period, 0)
	at := func(k int) time.Duration { return time.Duration(k+1) * time.Second / (keys + 1) }
	name := func(k int) string { return fmt.Sprintf("key-%d", k) }
	for k := range keys {
		ask(m, begins.Add(time.Second), name(k), 1) // the newest: all that follows is put before it
	}
	var all sync.WaitGroup
	for k := range keys {
		all.Go(func() {
			i := m.Index([]byte(name(k)))
			times := int64(at(k) * timeParts / time.Second)
			for range each {
				m.MergeRemote(begins.Add(time.Second), 0, i, 0,
					[]RemoteDelta{{
						Period:       period,
						PeriodTotals: PeriodTotals{Offered: 1, Admitted: 1, Times: times},
					}})
			}
		})
	}
	all.Wait()
	for k := range keys {
		i := m.Index([]byte(name(k)))
		if got := m.Offered(begins.Add(time.Second+at(k)-time.Millisecond), i); got != each+1 {
			t.Errorf("%s: %d in the window, want %d", name(k), got, each+1)
		}
		if got := m.Offered(begins.Add(time.Second+at(k)+time.Millisecond), i); got != 1 {
			t.Errorf("%s: %d in the window when all but one have left it", name(k), got)
		}
	}
}
