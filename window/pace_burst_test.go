package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// A flush that comes right after a late one tells of the same rate: what others tell in that
// instant is no leap.
func TestRateAfterALateFlush(t *testing.T) {
	c, m := worldCounter(1000, time.Second)
	now, last := start, 0.0
	flush := func(d time.Duration, n int) {
		for range n {
			ask(m, now, "k", 1)
		}
		now = now.Add(d)
		for _, s := range soloFlush(c, now) {
			last = s.Rate
		}
	}
	for range 50 {
		flush(testFlush, 400)
	}
	flush(2*testFlush-time.Millisecond, 700)
	flush(time.Millisecond, 100)
	if last > 8000 {
		t.Errorf("of 4,000 a second it makes %.0f", last)
	}
}

// TestWhatOthersTellLateIsNoRise: after a slow moment of the ring, pending cost of several nodes
// arrives at once.
func TestWhatOthersTellLateIsNoRise(t *testing.T) {
	edgetest.Alone(t)
	const rate = 1300.0
	for _, lasts := range []time.Duration{100, 200, 300, 400, 500} {
		for begins := start.Add(3 * time.Second); begins < start.Add(
			4*time.Second); begins = begins.Add(210 * time.Millisecond) {
			p, ends := newPop(6, Limit{
				Name: "r", Limit: 10_000, Window: 5 * time.Second,
				Global: true,
			}), begins.Add(lasts*time.Millisecond)
			p.fails = func(*Due) (failed, sent bool) {
				return p.round%6 != 0 && p.now > begins &&
					p.now <= ends, false
			}
			most := 0.0
			p.learns = func(n int, s Standing) {
				if n == 0 && p.now > begins {
					most = max(most, s.Rate)
				}
			}
			dice := rand.New(rand.NewPCG(1, 2))
			for p.now < ends.Add(time.Second) {
				p.until(p.now.Add(time.Duration(dice.ExpFloat64() / rate * float64(time.Second))))
				p.ask(dice.IntN(6), "r", "k")
			}
			if most > 1.5*rate {
				t.Errorf("late for %d ms from %v on: up to %.0f a second are told of, of %.0f",
					lasts, begins.Sub(start), most, rate)
			}
		}
	}
}
