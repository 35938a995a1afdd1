package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

func TestFullTableForgetsTheLeast(t *testing.T) {
	edgetest.Alone(t)
	const limit = 100
	c := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: limit, Window: 10 * time.Second})
	m, slots := c.Meter("r"), len(c.table.slots)
	rng, now := rand.New(rand.NewPCG(7, 8)), start
	refused, attacks := 0, 0
	for n := range slots * 10 * 30 { // ten times the slots, 30 requests each
		now = now.Add(10 * time.Second / time.Duration(slots*10*30))
		if n%1000 == 0 {
			c.Sweep(now)
		}
		key := fmt.Sprintf("small-%d", rng.IntN(slots*10))
		if !ask(m, now, key, 1).Fits {
			t.Fatalf("%s was refused at about 30 of %d", key, limit)
		}
		if n%20 == 0 {
			attacks++
			if !ask(m, now, fmt.Sprintf("attacker-%d", attacks%10), 1).Fits {
				refused++
			}
		}
	}
	over := attacks - 10*limit
	if refused < over*97/100 {
		t.Errorf("%d of the %d requests over the limit were refused", refused, over)
	}
	if s := c.Stats(now); s.Full+s.EvictedValue+s.EvictedSpare == 0 {
		t.Errorf("the table was never short: %+v", s)
	}
}

func TestShortArenaCoarsens(t *testing.T) {
	const limit = 1000
	m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: limit, Window: time.Minute}).Meter("r")
	m.c.arena = newArena(60) // 420 marks
	log, now, rng := NewLog(time.Minute, time.Microsecond), start, rand.New(rand.NewPCG(1, 1))
	for n := range 20_000 {
		now = now.Add(time.Duration(rng.Int64N(int64(40 * time.Millisecond))))
		exact := log.Admitted(now)
		got := ask(m, now, "a", 1)
		if got.Fits && exact+1 > limit || !got.Fits && exact < limit*98/100 {
			t.Fatalf("request %d: %+v at exactly %d", n, got, exact)
		}
		if got.Fits {
			log.Admit(now, 1)
		}
	}
	if m.c.arena.failed.Load() == 0 {
		t.Error("the arena was never short")
	}
}

// TestWithRoomEveryKeyIsASuspect from its first request on, also where a unit of the sketch is many
// of cost.
func TestWithRoomEveryKeyIsASuspect(t *testing.T) {
	for _, limit := range []int64{1, 1000, 5000, 1_000_000_000} {
		m := newTestCounter(t, 1<<20,
			Limit{Name: "r", Limit: limit, Window: time.Minute}).Meter("r")
		ask(m, start, "k", 1)
		if got := m.Evidence(start, m.Index([]byte("k"))); !got.Suspect || got.Estimate != 1 {
			t.Errorf("limit %d: after one request %+v", limit, got)
		}
	}
}
