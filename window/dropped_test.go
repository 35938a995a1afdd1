package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// A slot's pending cost is collected once, or counted as dropped.

// toldBy returns the totals of rule r in the shared counters.
func (p *pop) toldBy() (sum tally) {
	for _, word := range p.ring {
		told, _ := p.nodes[0].Meter("r").packing.unpack(word)
		sum.offered += told.offered
		sum.admitted += told.admitted
	}
	return sum
}

// TestPendingIsCollectedOnce tries both sides of the room that pending has, admitted and refused,
// while flushes fail.
func TestPendingIsCollectedOnce(t *testing.T) {
	for _, most := range []int64{3, 2000, math.MaxUint16, math.MaxUint16 * 3 / 2} {
		// long enough for all to be told in time
		p := newPop(1, Limit{Name: "r", Limit: shareUnits, Window: 10 * time.Minute})
		m, rng, key := p.nodes[0].Meter("r"), rand.New(rand.NewPCG(1, uint64(most))), []byte("k")
		p.fails = func(*Due) (failed, sent bool) { return rng.IntN(4) == 0, false }
		var want tally
		for range 2000 {
			p.until(p.now.Add(time.Duration(rng.IntN(100)) * time.Millisecond))
			cost := 1 + rng.Int64N(most)
			h := m.Offer(p.now, m.Index(key), key, cost, 0)
			want.offered += cost
			if rng.IntN(3) == 0 {
				m.Refuse(p.now, h, cost)
				continue
			}
			m.Record(p.now, h, cost)
			want.admitted += cost
		}
		p.fails = nil
		p.until(p.now.Add(time.Second))
		if got := p.toldBy(); got != want || p.nodes[0].sync.dropped.Load() > 0 {
			t.Errorf("cost up to %d: %+v told of %+v, %d dropped", most, got, want,
				p.nodes[0].sync.dropped.Load())
		}
	}
}

// TestPendingIsSeen by people, and counted as dropped when the slot goes first.
func TestPendingIsSeen(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 1000, Window: 10 * time.Second})
	c, m := p.nodes[0], p.nodes[0].Meter("r")
	i := m.Index([]byte("k"))
	for _, want := range []int64{3, 6} {
		for range 3 {
			p.ask(0, "r", "k")
		}
		if e := m.Evidence(p.now, i); e.Shared == nil || e.Shared.Pending != want {
			t.Errorf("%+v, %d untold", e.Shared, want)
		}
	}
	p.ask(0, "r", "k") // nobody looks
	at := c.table.find(i)
	m.locked(Hit{index: i, at: at}, func(*slot) { c.evict(at, evictValue) })
	if got := c.sync.dropped.Load(); got != 7 {
		t.Errorf("%d of 7 dropped", got)
	}
	p.ask(0, "r", "k") // the next in the slot begins with nothing
	if p.until(p.now.Add(testFlush)); p.toldBy().offered != 1 {
		t.Errorf("%d of 1 told", p.toldBy().offered)
	}
}

// TestCollectWhileDeciding lets four goroutines decide while a fifth collects: each unit is
// exchanged once.
func TestCollectWhileDeciding(t *testing.T) {
	const keys, each, cost = 20, 20_000, 7
	p := newPop(1, Limit{Name: "r", Limit: shareUnits, Window: time.Minute})
	m := p.nodes[0].Meter("r")
	var deciding, telling sync.WaitGroup
	for g := range 4 {
		deciding.Go(func() {
			for n := range each {
				ask(m, start, fmt.Sprint((n+g)%keys), cost)
			}
		})
	}
	done := make(chan struct{})
	telling.Go(func() {
		for n := Instant(0); ; n++ {
			select {
			case <-done:
				return
			default:
				p.flushAt(start+n, 0)
			}
		}
	})
	deciding.Wait()
	close(done)
	telling.Wait()
	for n := range 2 * stride { // every key has its turn
		p.flushAt(start.Add(time.Duration(n)*time.Millisecond), 0)
	}
	if got, want := p.toldBy().offered, int64(4*each*cost); got != want {
		t.Errorf("%d told of %d", got, want)
	}
}
