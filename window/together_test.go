package window

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// together asks cost 1 of key under each meter.
func together(now Instant, key string, ms ...*Meter) (bool, []Question) {
	all := make([]Question, len(ms))
	for n, m := range ms {
		i := m.Index([]byte(key))
		all[n] = Question{
			Meter: m, Hit: m.Offer(now, i, []byte(key), 1, 7), Cost: 1,
			Judges: true, Counts: true,
		}
	}
	return AdmitAll(now, all), all
}

// Limits of 10 for a group and 3 for one of its routes: after five requests of the route, two of
// them refused, the group has 7 left.
func TestANarrowLimitDoesNotUseUpAWideOne(t *testing.T) {
	c := newTestCounter(t, 8<<20, Limit{Name: "group", Limit: 10, Window: time.Minute},
		Limit{Name: "route", Limit: 3, Window: time.Minute})
	group, route := c.Meter("group"), c.Meter("route")
	passed := 0
	for range 5 {
		if ok, _ := together(start, "a", group, route); ok {
			passed++
		}
	}
	if passed != 3 {
		t.Fatalf("%d of five passed the route's limit of 3", passed)
	}
	_, refused := group.Keys()
	if refused > 0.5 {
		t.Errorf("the group counts %v keys as refused; it refused nobody", refused)
	}
	if got := group.Offered(start, group.Index([]byte("a"))); got != 5 {
		t.Errorf("the group was offered %d, want all 5", got)
	}
	for passed = 0; ; passed++ {
		if ok, _ := together(start, "a", group); !ok {
			break
		}
	}
	if passed != 7 {
		t.Fatalf("the group had %d left, want 7", passed)
	}
}

func TestAQuestionThatYieldsHoldsUpNobody(t *testing.T) {
	c := newTestCounter(t, 8<<20, Limit{Name: "wide", Limit: 10, Window: time.Minute},
		Limit{Name: "shadow", Limit: 1, Window: time.Minute})
	wide, shadow := c.Meter("wide"), c.Meter("shadow")
	for k := range 3 {
		_, all := together(start, "none", wide)
		all = append(all[:0], Question{Meter: wide, Cost: 1, Judges: true, Counts: true},
			Question{Meter: shadow, Cost: 1, Judges: true, Counts: true, Yields: true})
		for n := range all {
			i := all[n].Meter.Index([]byte("a"))
			all[n].Hit = all[n].Meter.Offer(start, i, []byte("a"), 1, 7)
		}
		if !AdmitAll(start, all) || all[0].Count.Used != int64(k+1) ||
			all[1].Count.Fits != (k == 0) {
			t.Fatalf("request %d: %+v", k, all)
		}
	}
}

// Two questions about one key are judged as one cost, and admitted together or not at all.
func TestTwoQuestionsOfOneKey(t *testing.T) {
	m := newTestCounter(t, 8<<20, Limit{Name: "r", Limit: 3, Window: time.Minute}).Meter("r")
	if ok, all := together(start, "a", m, m); !ok || all[1].Count.Used != 2 {
		t.Fatalf("two of three: %v %+v", ok, all)
	}
	if ok, all := together(start, "a", m, m); ok || !all[0].Count.Fits || all[1].Count.Fits {
		t.Fatalf("two more of one left: %v %+v", ok, all)
	}
	if ok, _ := together(start, "a", m); !ok {
		t.Fatal("the one that was left is gone")
	}
}

// A question that only looks takes nothing, one that only counts refuses nothing.
func TestLooksAndCounts(t *testing.T) {
	m := newTestCounter(t, 8<<20, Limit{Name: "r", Limit: 2, Window: time.Minute}).Meter("r")
	i := m.Index([]byte("a"))
	for k := range 4 {
		all := []Question{{
			Meter: m, Hit: m.Offer(start, i, []byte("a"), 1, 7),
			Cost: 1, Counts: true,
		}}
		if !AdmitAll(start, all) || all[0].Fills != (k >= 1) {
			t.Fatalf("count %d: %+v", k, all)
		}
		all = []Question{{Meter: m, Hit: m.Look(start, i), Cost: 1, Judges: true}}
		if got := AdmitAll(start, all); got != (k < 1) {
			t.Fatalf("look %d passes: %v", k, got)
		}
	}
}

// TestAllOrNothingUnderConcurrency has all cores ask random subsets of eight rules. The slots must
// hold what passed, to the unit.
func TestAllOrNothingUnderConcurrency(t *testing.T) {
	const rules, workers = 8, 4
	var limits []Limit
	for i := range rules {
		limits = append(limits, Limit{
			Name:  fmt.Sprint("r", i),
			Limit: int64(20_000 + 3_700*i), Window: time.Hour,
		})
	}
	c := newTestCounter(t, 64<<20, limits...)
	var ms [rules]*Meter
	for i := range ms {
		ms[i] = c.Meter(limits[i].Name)
	}
	var passed [rules]atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(
			func() { askAtRandom(&ms, uint64(w)*7919+1, edgetest.Rounds(25_000, 250_000), &passed) },
		)
	}
	wg.Wait()
	for i, m := range ms {
		var used int64
		for k := range 2 {
			used += m.Peek(start, m.Look(start, m.Index([]byte{byte(k)})), 1).Used
		}
		if used != passed[i].Load() || used > 2*limits[i].Limit {
			t.Errorf("rule %d: the slots hold %d, %d passed, limit 2 x %d", i, used,
				passed[i].Load(), limits[i].Limit)
		}
	}
}

func askAtRandom(ms *[8]*Meter, x uint64, requests int, passed *[8]atomic.Int64) {
	var all [8]Question
	for range requests {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		n, key := 0, []byte{byte(x >> 32 & 1)}
		for i, m := range ms {
			if x>>(8+i)&1 == 1 {
				all[n] = Question{
					Meter: m, Hit: m.Offer(start, m.Index(key), key, 1, x), Cost: 1,
					Judges: true, Counts: true,
				}
				n++
			}
		}
		if AdmitAll(start, all[:n]) {
			for i := range ms {
				passed[i].Add(int64(x >> (8 + i) & 1)) // a bit
			}
		}
	}
}

func BenchmarkAdmitAll(b *testing.B) {
	for _, k := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			var limits []Limit
			for i := range k {
				limits = append(limits, Limit{
					Name:  fmt.Sprint("r", i),
					Limit: 1e9, Window: time.Hour,
				})
			}
			c := newTestCounter(b, 64<<20, limits...)
			var all [4]Question
			var ms [4]*Meter
			for i := range k {
				ms[i] = c.Meter(limits[i].Name)
			}
			key, now := []byte("203.0.113.7"), start
			b.ReportAllocs()
			for b.Loop() {
				now += 100
				for i := range k {
					all[i] = Question{
						Meter: ms[i],
						Hit:   ms[i].Offer(now, ms[i].Index(key), key, 1, 7), Cost: 1,
						Judges: true, Counts: true,
					}
				}
				AdmitAll(now, all[:k])
			}
		})
	}
}
