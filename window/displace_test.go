package window

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/sketch"
)

// TestAFloodHidesNobody: whatever fills the slots, a new key passes at most three times its limit,
// or one and a half times where each key of the flood is below half of its own.
func TestAFloodHidesNobody(t *testing.T) {
	edgetest.Alone(t)
	for _, limit := range []int64{5, 1, 100, 20, 5000, 8, 300}[:edgetest.Rounds(3, 7)] {
		for _, share := range []float64{0.6, 6, 0.49, 1.6}[:edgetest.Rounds(2, 4)] {
			for _, l := range []Limit{
				{Name: "window", Limit: limit, Window: time.Minute},
				{Name: "bucket", Limit: 1, Window: 20 * time.Second, Burst: min(limit, 4000)},
				{Name: "offered", Limit: limit, Window: time.Minute, CountDenied: true},
			} {
				t.Run(fmt.Sprintf("%s%d/flood%v", l.Name, limit, share), func(t *testing.T) {
					hidesNobody(t, l, share, "")
				})
				if limit == 5 || limit == 100 {
					t.Run(fmt.Sprintf("%s%d/flood%v/long", l.Name, limit, share),
						func(t *testing.T) {
							hidesNobody(t, l, share, strings.Repeat("/segment", 25))
						})
				}
			}
		}
	}
}

// hidesNobody has a flood fill the slots, each of its keys with share of its limit, and then new
// keys ask for ten times their limit, in turn, in costs of all sizes.
func hidesNobody(t *testing.T, l Limit, share float64, tail string) {
	c := newTestCounter(t, MinMemory, l)
	m, now, rng := c.Meter(l.Name), start, rand.New(rand.NewPCG(1, uint64(l.Limit)))
	step := max(1, m.limit/40) // a large limit is asked for in bulk
	keys, each := 2*len(c.table.slots), int(share*float64(m.limit)/float64(step))
	for n := range keys * each {
		now = now.Add(10 * time.Second / time.Duration(keys*each))
		if n%1000 == 0 {
			c.Sweep(now)
		}
		ask(m, now, fmt.Sprint("flood", n%keys, tail), step)
	}
	most := 3 * m.limit
	if share < keeps {
		most = m.limit * 3 / 2
	}
	passed := map[string]int64{}
	for range 10 * m.limit / step {
		for k := range 30 {
			now = now.Add(100 * time.Microsecond)
			key, cost := fmt.Sprint("new", k, tail), 1+rng.Int64N(2*step-1)
			if ask(m, now, key, cost).Fits {
				passed[key] += cost
			}
		}
	}
	for key, n := range passed {
		if n > most {
			t.Errorf("%s passed %d, the limit being %d; %+v", key, n, m.limit, c.Stats(now))
		}
	}
}

// TestWhoGivesWay: the slot of the least share goes first, one of a key that is refused last; and a
// key that gets a slot so is not the next to lose it.
func TestWhoGivesWay(t *testing.T) {
	// a rule without brief entries
	c := newTestCounter(t, 1<<20, Limit{
		Name: "r", Limit: 10, Window: time.Minute, CountDenied: true,
	})
	m := c.Meter("r")
	keys := crowded(c, m, ways+3)
	for n, key := range keys[:ways] {
		for range []int{8, 6, 20, 7}[min(n, 3)] {
			ask(m, start, key, 1)
		}
	}
	m.mark.Store(2)
	has := func(key string) bool { return c.table.find(m.Index([]byte(key))) != noSlot }
	for n, key := range keys[ways:] {
		asked := 0
		for ; !has(key); asked++ {
			ask(m, start, key, 1)
		}
		if asked != 20 {
			t.Errorf("%s got its slot with request %d, want 20", key, asked)
		}
		if n == 0 && has(keys[1]) {
			t.Error("the key of the least share kept its slot")
		}
	}
	for _, key := range []string{keys[0], keys[2], keys[ways], keys[ways+1], keys[ways+2]} {
		if !has(key) {
			t.Errorf("%s lost its slot", key)
		}
	}
	if s := c.Stats(start); s.EvictedPinned != 3 || s.EvictedValue != 0 {
		t.Errorf("%+v", s)
	}
}

// While a flood uses up the memory of logs, a client that stays below its limit is never refused:
// its log gets coarse, and then counts up to a mark too much. What passes stays below the limit and
// a mark.
func TestCoarseLogsRefuseNobody(t *testing.T) {
	edgetest.Alone(t)
	for _, limit := range []int64{20, 100, 1000} {
		for _, rate := range []float64{0.99, 3} { // of the limit
			c := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: limit, Window: time.Minute})
			m, now, coarse := c.Meter("r"), start, uint32(0)
			var passed []Instant
			turns, step := int64(rate*float64(4*limit)), max(1, limit/100)
			keys := 2 * len(c.table.slots)
			each := int(int64(keys) * limit * 4 / 5 / step / turns * 4) // of the flood, a turn
			for n := range turns {
				for k := range each {
					ask(m, now, fmt.Sprint("flood", (int(n)*each+k)%keys), step)
				}
				now = now.Add(4 * time.Minute / time.Duration(turns))
				if n%64 == 0 {
					c.Sweep(now)
				}
				if ask(m, now, "client", 1).Fits {
					passed = append(passed, now)
				} else if rate < 1 {
					t.Fatalf("limit %d: refused at %v, %d passed", limit,
						now.Sub(start), len(passed))
				}
				if at := c.table.find(m.Index([]byte("client"))); at != noSlot {
					coarse = max(coarse, c.table.slots[at].admitted.per)
				}
			}
			if coarse < 2 && limit == 1000 {
				t.Errorf("limit %d, rate %v: the log stayed fine: %+v", limit, rate, c.Stats(now))
			}
			worst := 0
			for i, j := 0, 0; i < len(passed); i++ {
				for passed[i].Sub(passed[j]) >= time.Minute {
					j++
				}
				worst = max(worst, i-j+1)
			}
			t.Logf("limit %d, rate %v: a mark of %d, %d passed in a window", limit,
				rate, coarse, worst)
			if worst > int(limit)*6/5 {
				t.Errorf("limit %d: %d passed in a window", limit, worst)
			}
		}
	}
}

// TestLongLogsMakeRoom: where no chunk is left the sweep halves long logs, so a later log is exact.
func TestLongLogsMakeRoom(t *testing.T) {
	c := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: 1000, Window: time.Minute})
	m, now := c.Meter("r"), start
	for n := 0; !c.arena.kept(); n++ {
		ask(m, now, fmt.Sprint("key", n/1000), 1)
	}
	for range 20 {
		now = now.Add(slotRound / 10)
		c.Sweep(now)
	}
	for range m.limit {
		ask(m, now, "late", 1)
	}
	s := &c.table.slots[c.table.find(m.Index([]byte("late")))]
	if s.admitted.per > 1 {
		t.Errorf("%d marks of %d", s.admitted.n, s.admitted.per)
	}
}

// TestHomesComeInPairs: two keys far beyond their limit with one first place do not displace each
// other, which would let each request pass.
func TestHomesComeInPairs(t *testing.T) {
	for home := range sketch.Index(ways) {
		var all [ways]standing
		for at := range all {
			all[at].share = 5
		}
		first := displaceable(&all, home<<1, beyond+2)
		all[first].since = start
		second := displaceable(&all, home<<1, beyond+2)
		if first == second || first/2 != int(home/2) {
			t.Error(home, first, second)
		}
	}
}
