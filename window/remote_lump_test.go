package window

import (
	"testing"
	"time"
)

// A node that learns late, and all at once, of remote admissions in an ended period refuses nobody
// for it who keeps to 0.9 of the limit: cost spread over a second leaves the window bit by bit, not
// at its mean time.
func TestRemoteAllAtOnce(t *testing.T) {
	const others, own, late = 850, 50, 200 * time.Millisecond
	_, m := worldCounter(1000, time.Second)
	i := m.Index([]byte("k"))
	period := m.period(start.Add(time.Second), 0)
	begins := m.begins(period, 0)
	ask(m, begins.Add(time.Millisecond), "k", 1)
	tell := func(now Instant, p uint32, n int64, mean time.Duration) {
		times := n * int64(mean*timeParts/time.Second)
		m.MergeRemote(now, 0, i, 0, []RemoteDelta{{
			Period:       p,
			PeriodTotals: PeriodTotals{Offered: n, Admitted: n, Times: times},
		}})
	}
	tell(begins.Add(time.Second+late), period, others, time.Second/2)
	tell(begins.Add(time.Second+late), period+1, others/5, late/2)
	wrong := 0
	for at := late; at < time.Second; at += time.Second / own {
		if at%testFlush == 0 && at > late {
			tell(begins.Add(time.Second+at), period+1, others/10, at-testFlush/2)
		}
		if !ask(m, begins.Add(time.Second+at), "k", 1).Fits {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d refused of a key that never had more than 0.9 of its limit in any second",
			wrong)
	}
}
