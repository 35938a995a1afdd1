package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Attacks on a counter and ordinary accidents, and the guarantees that hold all the same.

// TestCheckThenCountStaysFull: counting a cost after the answer keeps a key as full as it is,
// whatever a mark stands for; a mark pushed out must not make room for the next check.
func TestCheckThenCountStaysFull(t *testing.T) {
	edgetest.Alone(t)
	for _, limit := range []int64{1000, 100_000, 10_000_000} {
		m := newTestCounter(t, 8<<20,
			Limit{Name: "r", Limit: limit, Window: time.Minute}).Meter("r")
		i, now, checked := m.Index([]byte("a")), start, int64(0)
		for range 20_000 {
			now = now.Add(time.Millisecond)
			if !m.Admit(now, m.Offer(now, i, []byte("a"), 1, rand.Uint64()), 1).Fits {
				continue
			}
			cost := 1 + rand.Int64N(limit/20)
			m.Record(now, m.Offer(now, i, []byte("a"), cost, rand.Uint64()), cost)
			checked += 1 + cost
		}
		if checked > limit+limit/20+int64(m.per) {
			t.Errorf("limit %d: %d let through in a third of a window", limit, checked)
		}
	}
}

// TestOldMeterPromisesNothing: a decision that still holds the meter from before a reload must not
// tell later ones to wait for a limit that is no more.
func TestOldMeterPromisesNothing(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Hour})
	old := c.Meter("r")
	for range 4 {
		ask(old, start, "a", 1)
	}
	c.Configure([]Limit{{Name: "r", Limit: 1000, Window: time.Hour}})
	ask(old, start, "a", 1) // the fifth of five
	if got := ask(c.Meter("r"), start.Add(time.Second), "a", 1); !got.Fits || got.Used != 6 {
		t.Errorf("5 of 1000 used: %+v", got)
	}
}

func TestRaisedLimitBoundsItsList(t *testing.T) {
	c := newTestCounter(t, 8<<20, Limit{Name: "r", Limit: 100, Window: time.Minute})
	ask(c.Meter("r"), start, "a", 1)
	c.Configure([]Limit{{Name: "r", Limit: 1_000_000, Window: time.Minute}})
	m := c.Meter("r")
	for n := range 200_000 {
		if got := ask(m, start.Add(time.Duration(n)*time.Microsecond), "a", 1); !got.Fits ||
			got.Used < int64(n+2) {
			t.Fatalf("request %d: %+v", n, got)
		}
	}
	if s := &c.table.slots[c.table.find(m.Index([]byte("a")))]; s.admitted.n > mostMarks {
		t.Errorf("%d marks", s.admitted.n)
	}
}

// TestFullArenaKeepsSmallLimits fills the slots and the arena with the long logs of one rule; a new
// key of another rule passes at most three times its limit of 5.
func TestFullArenaKeepsSmallLimits(t *testing.T) {
	c := newTestCounter(t, 1<<20,
		Limit{Name: "daily", Limit: 127, Window: 24 * time.Hour},
		Limit{Name: "login", Limit: 5, Window: time.Minute})
	for k := 0; c.arena.failed.Load() < 1000; k++ {
		for range 120 {
			ask(c.Meter("daily"), start, fmt.Sprint(k), 1)
		}
		if k%10 == 0 {
			c.Sweep(start)
		}
	}
	for k := range 50 {
		fits := 0
		for range 1000 {
			if ask(c.Meter("login"), start, fmt.Sprint("victim", k), 1).Fits {
				fits++
			}
		}
		if fits > 15 {
			t.Fatalf("limit 5: %d let through at one instant", fits)
		}
	}
}

// crowded returns n keys of c's meter m that fall into one bucket.
func crowded(c *Counter, m *Meter, n int) []string {
	byBucket := map[int][]string{}
	for k := 0; ; k++ {
		key := fmt.Sprint("k", k)
		b := c.table.bucket(m.Index([]byte(key)))
		if byBucket[b] = append(byBucket[b], key); len(byBucket[b]) == n {
			return byBucket[b]
		}
	}
}

// TestRefusedKeysKeepTheirSlots: one key more over its limit than a bucket has slots must not set
// them evicting each other, or none of them would be held.
func TestRefusedKeysKeepTheirSlots(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 10, Window: time.Minute})
	m := c.Meter("r")
	keys := crowded(c, m, ways+1)
	now := start
	for range 100 {
		now = now.Add(10 * time.Millisecond)
		for _, key := range keys {
			ask(m, now, key, 1)
		}
	}
	lost := 0
	for _, key := range keys {
		if c.table.find(m.Index([]byte(key))) == noSlot {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d of %d keys over their limit have no slot, want 1", lost, len(keys))
	}
}

// TestNoRuleCrowdsOutAnother: a rule of one request a day pins a slot for each key; a rule beside
// it must get its share of every bucket.
func TestNoRuleCrowdsOutAnother(t *testing.T) {
	edgetest.Alone(t)
	c := newTestCounter(t, 1<<20,
		Limit{Name: "signup", Limit: 1, Window: 24 * time.Hour},
		Limit{Name: "r", Limit: 10, Window: 10 * time.Second})
	now := start
	for k := range 20 * len(c.table.slots) {
		now = now.Add(10 * time.Millisecond)
		ask(c.Meter("signup"), now, fmt.Sprint("u", k), 1)
		if k%10 == 0 {
			c.Sweep(now)
		}
	}
	fits, keys := 0, len(c.table.slots)/ways/2
	for range 50 {
		now = now.Add(10 * time.Millisecond)
		for k := range keys {
			if ask(c.Meter("r"), now, fmt.Sprint("ip", k), 1).Fits {
				fits++
			}
		}
	}
	if right := 10 * keys; fits > right*3/2 {
		t.Errorf("%d let through where %d were right, of %d", fits, right, 50*keys)
	}
}

// TestHammeringIsNotForgotten: refusals that never take the slot's lock must keep it in use.
func TestHammeringIsNotForgotten(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: 10 * time.Second})
	m, now := c.Meter("r"), start
	for range 40 {
		ask(m, start, "a", 1)
	}
	for now < start.Add(9999*time.Millisecond) {
		now = now.Add(time.Millisecond)
		ask(m, now, "a", 1)
	}
	c.Sweep(start.Add(10 * time.Second))
	i := m.Index([]byte("a"))
	if _, ok := m.Suspect(i); !ok {
		t.Error("swept as idle a millisecond after a refusal")
	}
	ask(m, start.Add(10*time.Second), "a", 1)
	if got := m.Offered(start.Add(10*time.Second), i); got < 9000 {
		t.Errorf("about 10,000 were offered in the window, %d are known of", got)
	}
}

// TestSlotsOfGoneRules: requests under way while their rule is removed leave nothing behind.
func TestSlotsOfGoneRules(t *testing.T) {
	stays := Limit{Name: "r", Limit: 5, Window: time.Second}
	c := newTestCounter(t, 1<<20, Limit{Name: "gone", Limit: 5, Window: time.Second}, stays)
	old := c.Meter("gone")
	c.Configure([]Limit{stays})
	old.retired.Store(false) // as for a request that looked just before
	for k := range 300 {
		ask(old, start, fmt.Sprint(k), 1)
	}
	old.retired.Store(true)
	if c.table.held.Load() == 0 {
		t.Fatal("nothing was left behind to find")
	}
	if ask(old, start, "late", 1); c.table.find(old.Index([]byte("late"))) != noSlot {
		t.Error("a retired meter made a suspect")
	}
	c.Sweep(start.Add(time.Second))
	c.Sweep(start.Add(2 * time.Second))
	if n := c.table.held.Load(); n != 0 {
		t.Errorf("%d slots of a rule that is gone", n)
	}
}

// TestNoRefusalsLeft takes every refusals record away: refusals go on, and are counted as far as
// possible.
func TestNoRefusalsLeft(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Minute})
	for c.refusals.take() != 0 {
	}
	m := c.Meter("r")
	for n := range 20 {
		if got := ask(m, start, "a", 1); got.Fits != (n < 5) {
			t.Fatalf("request %d: %+v", n, got)
		}
	}
	if s := c.Stats(start); s.WatchesFull == 0 || s.Watched != int64(len(c.refusals.all)-1) {
		t.Errorf("%+v", s)
	}
}
