package window

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		window, tick time.Duration
	}{
		{time.Second, time.Microsecond},
		{1073 * time.Second, time.Microsecond},
		{time.Hour, 4 * time.Microsecond},
		{24 * time.Hour, 100 * time.Microsecond},
		{1500 * time.Millisecond, time.Microsecond},
	} {
		s := SpanOf(c.window)
		if s.tick.by != uint64(c.tick) || time.Duration(s.ticks)*c.tick != c.window {
			t.Errorf("%v: ticks of %v, %d of them", c.window, time.Duration(s.tick.by), s.ticks)
		}
		edge := Instant(int64(c.window) * 1000)
		if s.Number(edge)%5 != 0 || s.Number(edge-1) != s.Number(edge)-1 {
			t.Errorf("%v: a window edge is no sub-window edge: %d", c.window, s.Number(edge))
		}
	}
}

func TestTicksComeRound(t *testing.T) {
	m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Minute}).Meter("r")
	i := m.Index([]byte("a"))
	for range 5 {
		ask(m, start, "a", 1)
	}
	now := start
	for ; now < start.Add(3*time.Hour); now = now.Add(20 * time.Second) {
		m.Refuse(now, m.Offer(now, i, []byte("a"), 1, 0), 1)
	}
	if got := ask(m, now, "a", 1); !got.Fits {
		t.Errorf("three hours of refusals by flag: %+v", got)
	}
}

func TestDivisor(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 200_000 {
		by := 1 + rng.Uint64()>>rng.IntN(64)
		n := rng.Uint64() >> (1 + rng.IntN(63))
		if by == 0 {
			continue
		}
		if q, rest := divideBy(by).of(n); q != n/by || rest != n%by {
			t.Fatalf("%d / %d = %d rest %d, got %d rest %d", n, by, n/by, n%by, q, rest)
		}
	}
}
