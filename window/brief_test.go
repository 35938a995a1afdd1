package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/window/bucket"
)

// TestLoudKeysBeyondTheSlots: 20,000 keys at two limits beside 40,000 at half of one, in a
// mebibyte. The loud keys get at most 1.1 limits from the third window on.
func TestLoudKeysBeyondTheSlots(t *testing.T) {
	edgetest.Alone(t)
	const limit, loud, quiet, windows, length = 10, 20_000, 40_000, 4, 10 * time.Second
	c := NewCounter(1 << 20)
	c.Configure([]Limit{{Name: "r", Limit: limit, Window: length}})
	m, dice := c.Meter("r"), rand.New(rand.NewPCG(1, 2))
	var admitted [windows]float64
	const all = limit * (2*loud + quiet/2)
	now, start := Instant(0), Instant(1e18)
	for swept := now; now < Instant(windows*length); {
		now += Instant(float64(length) / all * dice.ExpFloat64())
		if now > swept {
			c.Sweep(start + now)
			swept += Instant(100 * time.Millisecond)
		}
		key := fmt.Appendf(nil, "loud%d", dice.IntN(loud))
		isQuiet := dice.Float64() < limit*quiet/2./all
		if isQuiet {
			key = fmt.Appendf(nil, "quiet%d", dice.IntN(quiet))
		}
		h := m.Offer(start+now, m.Index(key), key, 1, dice.Uint64())
		if m.Admit(start+now, h, 1).Fits && !isQuiet {
			admitted[min(int(now/Instant(length)), windows-1)] += 1. / limit / loud
		}
	}
	s := c.Stats(start + now).Brief
	if admitted[2] > 1.1 || admitted[3] > 1.1 || s.Capacity < 16_000 || s.Keys < s.Capacity*9/10 {
		t.Errorf("%.2f limits by window, %+v", admitted, s)
	}
}

// TestBriefEntriesDenyNobody: clients that ask for no more than their exact log, or bucket, lets
// pass are denied nothing, however often they lose a slot, also when the ticks have come round.
func TestBriefEntriesDenyNobody(t *testing.T) {
	edgetest.Alone(t)
	const good, loud, rounds, each, length = 100, 700, 6, 60_000, time.Second
	for _, l := range []Limit{
		{Name: "window", Limit: 4, Window: length},
		{Name: "large", Limit: 5000, Window: length},
		{Name: "bucket", Limit: 4, Window: length, Burst: 6},
	} {
		c := NewCounter(MinMemory)
		c.Configure([]Limit{l})
		m, dice := c.Meter(l.Name), rand.New(rand.NewPCG(3, 4))
		logs, tats := make([]*Log, good), make([]bucket.TAT, good)
		for n := range logs {
			logs[n] = NewLog(length, time.Microsecond)
		}
		b, _ := bucket.New(4, length, 6)
		now, briefs, most := Instant(1e18), 0, l.Limit-l.Limit/32 // marks are coarse
		for n := range rounds * each {
			if now = now.Add(length / 4600); n%460 == 0 {
				c.Sweep(now)
			}
			for gap := 0; n%each == 0 && gap < 1000; gap++ { // about 100 windows
				now = now.Add(length / 10)
				c.Sweep(now)
			}
			cost, key := 1+dice.Int64N(l.Limit/2), fmt.Appendf(nil, "loud%d", dice.IntN(loud))
			isGood, k := dice.IntN(12) == 0, dice.IntN(good)
			next, ok := b.Take(tats[k], int64(now), cost)
			switch {
			case !isGood:
			case l.Burst > 0 && ok:
				tats[k] = next
			case l.Burst > 0 || logs[k].Admitted(now)+cost > most:
				continue
			default:
				logs[k].Admit(now, cost)
			}
			if isGood {
				key = fmt.Appendf(nil, "good%d", k)
			}
			count := m.Admit(now, m.Offer(now, m.Index(key), key, cost, dice.Uint64()), cost)
			if isGood && !count.Fits {
				t.Fatalf("%s: request %d, of %s: %+v", l.Name, n, key, count)
			}
			if count.Told {
				briefs++
			}
		}
		if briefs < 1000 {
			t.Errorf("%s: %d requests were denied by brief entries", l.Name, briefs)
		}
	}
}

// TestBriefEntriesTakeBack what is refunded, and what an operator forgives.
func TestBriefEntriesTakeBack(t *testing.T) {
	c := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: 5, Window: time.Minute})
	m := c.Meter("r")
	h := Hit{index: m.Index([]byte("k")), at: noSlot, estimate: 100}
	for want, back := range map[int]func(){
		2: func() { m.Forgive(h); _ = m.Admit(start, h, 5); m.Refund(start, h.index, 2) },
		5: func() { m.Forgive(h) },
	} {
		back()
		for ; m.Admit(start, h, 1).Fits; want-- {
		}
		if want != 0 {
			t.Error(want)
		}
	}
}
