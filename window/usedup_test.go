package window_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const usedUpNow = window.Instant(1_800_000_000_000_000_000)

// usedUpCounter returns the meter of a limit of 5 in 10 s that other nodes have used up for the key
// full, until 3 s from usedUpNow.
func usedUpCounter() (*window.Counter, *window.Meter) {
	c := window.NewSharedCounter(4<<20, 100*time.Millisecond)
	c.Configure([]window.Limit{{
		Name: "r", Limit: 5, Window: 10 * time.Second, Shared: true,
		Global: true, UsedUp: func(now window.Instant, key []byte) window.Instant {
			if string(key) == "full" {
				return usedUpNow.Add(3 * time.Second)
			}
			return 0
		},
	}})
	return c, c.Meter("r")
}

// admit asks for one unit of key.
func admit(m *window.Meter, now window.Instant, key []byte) window.Count {
	i := m.Index(key)
	return m.Admit(now, m.Offer(now, i, key, 1, 0), 1)
}

// TestAKeyThatOthersUsedUpIsDeniedFromItsFirstRequest: until the counts are there, or have left the
// window. Other keys are not touched.
func TestAKeyThatOthersUsedUpIsDeniedFromItsFirstRequest(t *testing.T) {
	_, m := usedUpCounter()
	for n := range 3 {
		if got := admit(m, usedUpNow, []byte("full")); got.Fits || got.Wait > 3*time.Second ||
			got.Wait < 2900*time.Millisecond {
			t.Fatalf("request %d: %+v", n, got)
		}
	}
	if !admit(m, usedUpNow, []byte("other")).Fits {
		t.Error("another key is denied")
	}
	if !admit(m, usedUpNow.Add(3*time.Second), []byte("full")).Fits {
		t.Error("the key is denied after the others' counts have left the window")
	}
}

// TestRemoteCountsStandBetweenTheirMoments: of counts of other PoPs with neither times nor a sum of
// them, each stands at the earliest moment that it can have had.
func TestRemoteCountsStandBetweenTheirMoments(t *testing.T) {
	_, m := usedUpCounter()
	period := uint32(int64(usedUpNow) / int64(2*time.Second)) // it begins now
	now := usedUpNow.Add(1900 * time.Millisecond)
	for n, c := range []struct {
		delta  window.RemoteDelta
		leaves time.Duration // from now until the first of them leaves the window
	}{
		{window.RemoteDelta{}, 8100 * time.Millisecond},
		{window.RemoteDelta{Since: now.Add(-time.Second)}, 9000 * time.Millisecond},
		// a mean of 1.5 s, and one of both at 1.6 s at the latest: the other at 1.4 s at the
		// earliest
		{window.RemoteDelta{
			PeriodTotals: window.PeriodTotals{Times: 2 * 3072},
			Until:        usedUpNow.Add(1600 * time.Millisecond),
		}, 9500 * time.Millisecond},
		{
			window.RemoteDelta{PeriodTotals: window.PeriodTotals{Times: 2 * 3072}},
			9200 * time.Millisecond,
		},
	} {
		key := []byte{byte('a' + n)}
		admit(m, now, key)
		c.delta.Period, c.delta.Offered, c.delta.Admitted = period, 2, 2
		m.MergeRemote(now, 0, m.Index(key), 0, []window.RemoteDelta{c.delta})
		if got := m.Peek(now, m.Look(now, m.Index(key)),
			1).Reset; got < c.leaves-2*time.Millisecond || got > c.leaves+2*time.Millisecond {
			t.Errorf("%+v: leaves after %v, want %v", c.delta, got, c.leaves)
		}
	}
}

// TestLooksAreFew: a key that nobody asks for is read from the ring at every flush while one unit
// is left, at every n-th while n are, and not at all when none is.
func TestLooksAreFew(t *testing.T) {
	for used, want := range map[int]int{1: 4, 2: 6, 3: 8, 4: 16, 5: 0} {
		c, m := usedUpCounter()
		for range used {
			admit(m, usedUpNow, []byte("k"))
		}
		looks, ring := 0, map[uint32]uint64{}
		for n := range 20 {
			now := usedUpNow.Add(time.Duration(n) * 100 * time.Millisecond)
			f := window.Flush{
				Now: now, Interval: 100 * time.Millisecond, Nodes: 2, Room: 10,
				Down: func(int) bool { return false },
			}
			dues, _ := c.Collect(f, nil, nil)
			for k := range dues {
				ring[dues[k].Period] += dues[k].Delta
				c.Merge(f, &dues[k], ring[dues[k].Period], 0)
				if n >= 4 {
					looks++
				}
			}
		}
		if looks != want {
			t.Errorf("%d of 5 used: %d looks in 16 flushes, want %d", used, looks, want)
		}
	}
}
