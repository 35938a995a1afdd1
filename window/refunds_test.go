package window

import (
	"testing"
	"time"
)

// TestARefundDuringTheFirstExchange: cost taken back while the first answer about its key is under
// way is taken back at the other node too, as if it had not been admitted: for limits of both
// layouts and for a bucket.
func TestARefundDuringTheFirstExchange(t *testing.T) {
	for _, l := range []Limit{
		{Limit: 1000, Window: time.Hour},
		{Limit: 100_000, Window: time.Hour},
		{Limit: 1, Burst: 1000, Window: time.Hour},
	} {
		l.Name = "r"
		usedAtOther := func(cost, back int64) int64 {
			p := newPop(2, l)
			p.tally = func(d *Due) uint64 {
				total := p.ring.add(d)
				if m := p.nodes[0].Meter("r"); back > 0 && d.Delta > 0 {
					back -= m.Refund(p.now, m.Index([]byte("k")), back)
				}
				return total
			}
			ask(p.nodes[0].Meter("r"), p.now, "k", cost)
			p.until(p.now.Add(time.Second))
			for range 10 { // a node learns of a key's counts when it is asked for it
				p.ask(1, "r", "k")
				p.until(p.now.Add(time.Second))
			}
			return ask(p.nodes[1].Meter("r"), p.now, "k", 1).Used
		}
		if is, want := usedAtOther(500, 200), usedAtOther(300, 0); is != want || is < 250 {
			t.Errorf("limit %d: %d used at the other node, want %d", l.Limit, is, want)
		}
	}
}
