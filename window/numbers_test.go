package window_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/window"
)

// numbered is the rule of these tests: with numbers for some keys.
var numbered = window.Limit{
	Name: "r", Limit: 60, Window: time.Minute,
	Numbers: []window.Number{{Limit: 5}, {Limit: 6000}, {Limit: 137}},
}

// pass asks for key n times at now under the number, and returns how many pass.
func pass(m *window.Meter, now window.Instant, key string, n int) (passed int) {
	for range n {
		i := m.Index([]byte(key))
		if m.Admit(now, m.Offer(now, i, []byte(key), 1, 0), 1).Fits {
			passed++
		}
	}
	return passed
}

// TestNumbers: each key is held to a number, by one index, and a number that changes keeps
// the counts: of what was admitted nothing is forgotten, and nothing passes twice.
func TestNumbers(t *testing.T) {
	t.Parallel()
	_, m := counterOf(1<<20, numbered)
	low, mid := m.Numbered(window.Number{Limit: 5}), m.Numbered(window.Number{Limit: 137})
	high := m.Numbered(window.Number{Limit: 6000})
	key := []byte("k")
	if m.Numbered(window.Number{Limit: 60}) != m || m.Index(key) != high.Index(key) {
		t.Fatal("the rule's own number, or the index")
	}
	for _, is := range []struct {
		m    *window.Meter
		want int
	}{{m, 60}, {low, 5}, {mid, 137}, {high, 6000}} {
		if got := pass(is.m, began, fmt.Sprint("k", is.want), is.want+200); got != is.want {
			t.Errorf("%d pass, want %d", got, is.want)
		}
	}
	for _, step := range []struct {
		m    *window.Meter
		want int
	}{{low, 5}, {mid, 132}, {low, 0}, {m, 0}, {high, 5863}, {mid, 0}, {high, 0}} {
		if got := pass(step.m, began.Add(time.Second), "moves", 7000); got != step.want {
			t.Errorf("%d pass, want %d", got, step.want)
		}
	}
	if n, ok := m.NumberOf(m.Index([]byte("moves"))); !ok || n.Limit != 6000 {
		t.Errorf("the number of the slot: %v, %v", n, ok)
	}
	if n, ok := m.NumberOf(m.Index([]byte("k60"))); ok {
		t.Errorf("the rule's own number: %v", n)
	}
}

// TestNumbersReload: a reload that adds, keeps and drops numbers forgets no count.
func TestNumbersReload(t *testing.T) {
	t.Parallel()
	c, m := counterOf(1<<20, numbered)
	for key, n := range map[string]int64{"a": 6000, "b": 137} {
		if got := pass(m.Numbered(window.Number{Limit: n}), began, key, 100); got != 100 {
			t.Fatalf("%d", got)
		}
	}
	next := numbered
	next.Numbers = []window.Number{{Limit: 6000}, {Limit: 150}}
	c.Configure([]window.Limit{next})
	m = c.Meter("r")
	if got := pass(m.Numbered(window.Number{Limit: 6000}), began, "a", 7000); got != 5900 {
		t.Errorf("the number that stays: %d pass", got)
	}
	if got := pass(m.Numbered(window.Number{Limit: 150}), began, "b", 7000); got != 50 {
		t.Errorf("137 became 150: %d pass", got)
	}
	next.Numbers = nil
	c.Configure([]window.Limit{next})
	if got := pass(c.Meter("r"), began, "a", 100); got != 0 {
		t.Errorf("the rule's own again: %d pass", got)
	}
	c.Sweep(began.Add(time.Second))
	if s := c.Stats(began.Add(time.Second)); s.Suspects != 2 || s.EvictedGone != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNumbersRandom: windows and buckets under numbers that change at random, against exact logs:
// never more than the number allows, and never less where the number did not change.
func TestNumbersRandom(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 1))
	numbers := []window.Number{{Limit: 3}, {Limit: 20}, {Limit: 700}, {Limit: 9000}}
	l := window.Limit{Name: "r", Limit: 50, Window: 10 * time.Second, Numbers: numbers}
	_, m := counterOf(1<<20, l)
	logs := map[string][]window.Instant{}
	now := began
	for range 200_000 {
		now = now.Add(time.Duration(rng.IntN(int(time.Millisecond))))
		key, n := fmt.Sprint(rng.IntN(6)), window.Number{Limit: 50}
		if rng.IntN(5) > 0 {
			n = numbers[rng.IntN(len(numbers))]
		}
		log := logs[key]
		for len(log) > 0 && now.Sub(log[0]) > l.Window {
			log = log[1:]
		}
		fits := pass(m.Numbered(n), now, key, 1) == 1
		if fits && int64(len(log)) >= n.Limit {
			t.Fatalf("%s: %d of %d had passed, and one more did", key, len(log), n.Limit)
		}
		// a log of a large number holds marks of several admissions, which leave together
		if slack := l.Window / 30; !fits && int64(len(log)) < n.Limit*9/10 &&
			(len(log) == 0 || now.Sub(log[0]) < l.Window-slack) {
			t.Fatalf("%s: %d of %d had passed, and one was denied", key, len(log), n.Limit)
		}
		if fits {
			log = append(log, now)
		}
		logs[key] = log
	}
}

// TestNumbersOfBuckets: tokens taken stay taken under another burst and another rate.
func TestNumbersOfBuckets(t *testing.T) {
	t.Parallel()
	_, m := counterOf(1<<20, window.Limit{
		Name: "r", Limit: 60, Window: time.Minute, Burst: 10,
		Numbers: []window.Number{{Limit: 600, Burst: 100}, {Limit: 60, Burst: 300}},
	})
	fast := m.Numbered(window.Number{Limit: 600, Burst: 100})
	slow := m.Numbered(window.Number{Limit: 60, Burst: 300})
	for _, step := range []struct {
		m     *window.Meter
		after time.Duration
		want  int
	}{
		{m, 0, 10},
		{fast, 0, 90},
		{fast, time.Second, 10},
		{slow, time.Second, 200},
		{m, 2 * time.Second, 1},
		{slow, 2 * time.Second, 290},
	} {
		if got := pass(step.m, began.Add(step.after), "k", 1000); got != step.want {
			t.Errorf("after %v: %d pass, want %d", step.after, got, step.want)
		}
	}
}

// TestNumbersCrowded: of keys beyond the slots no more passes than under two rules of those limits.
func TestNumbersCrowded(t *testing.T) {
	edgetest.Alone(t)
	t.Parallel()
	l := window.Limit{Name: "r", Limit: 50, Window: time.Minute}
	other := window.Limit{Name: "s", Limit: 200, Window: time.Minute}
	apart, beside := window.NewCounter(window.MinMemory), window.NewCounter(window.MinMemory)
	apart.Configure([]window.Limit{l, other})
	l.Numbers = []window.Number{{Limit: 200}}
	beside.Configure([]window.Limit{l})
	flood := func(c *window.Counter, even, odd *window.Meter) (passed [2]int) {
		now := began
		for round := range 260 {
			for k := range 3000 {
				passed[k%2] += pass([]*window.Meter{even, odd}[k%2], now, fmt.Sprint(k), 1)
			}
			if now = now.Add(time.Millisecond); round%20 == 0 {
				c.Sweep(now)
			}
		}
		return passed
	}
	two := flood(apart, apart.Meter("s"), apart.Meter("r"))
	m := beside.Meter("r")
	one := flood(beside, m.Numbered(window.Number{Limit: 200}), m)
	for i := range one {
		if one[i] > two[i]*105/100 {
			t.Errorf("%d passed, of two rules %d", one[i], two[i])
		}
	}
	t.Logf("by numbers %v, of two rules %v", one, two)
}

// TestNumbersAllocateNothing: a key with another number at each request.
func TestNumbersAllocateNothing(t *testing.T) {
	_, m := counterOf(1<<20, numbered)
	high := m.Numbered(window.Number{Limit: 6000})
	key, n := []byte("k"), 0
	if got := testing.AllocsPerRun(1000, func() {
		is := m
		if n++; n%2 == 0 {
			is = high
		}
		i := is.Index(key)
		is.Admit(began, is.Offer(began, i, key, 1, 0), 1)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
