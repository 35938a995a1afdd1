package lease_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// model is a table of leases without any cleverness.
type model struct {
	leases []modelled // in the order in which they began
	stats  lease.Stats
}

type modelled struct {
	number uint64
	key    sketch.Index
	rule   uint16
	cost   int64
	length time.Duration
	until  window.Instant
}

func (m *model) expire(now window.Instant) {
	before := len(m.leases)
	m.leases = slices.DeleteFunc(m.leases, func(l modelled) bool { return l.until <= now })
	m.stats.Expired += uint64(before - len(m.leases))
}

func (m *model) used(key sketch.Index) (sum int64) {
	for _, l := range m.leases {
		if l.key == key {
			sum += l.cost
		}
	}
	return sum
}

// at returns the place of the key's lease of that number, of its oldest for 0, or -1.
func (m *model) at(key sketch.Index, number uint64) int {
	at := slices.IndexFunc(m.leases,
		func(l modelled) bool { return l.key == key && (number == 0 || l.number == number) })
	if at < 0 {
		m.stats.Late++
	}
	return at
}

// run is one sequence of steps on a table and its model.
type run struct {
	t      *testing.T
	table  *lease.Table
	model  model
	chance *rand.Rand
	now    window.Instant
	keys   []sketch.Index
	rules  []uint16
	known  []uint64 // numbers that were given out, live or not
}

// setRules puts rules in force and returns their numbers.
func setRules(t *lease.Table, names ...string) (numbers []uint16) {
	t.SetRules(names)
	for _, name := range names {
		numbers = append(numbers, t.RuleNumber(name))
	}
	return numbers
}

const modelLimit = 40

func (r *run) take() {
	i := r.chance.IntN(len(r.keys))
	q := lease.Request{
		Index: r.keys[i], Key: fmt.Appendf(nil, "key-%d", i), Rule: r.rules[i%len(r.rules)],
		Cost: 1 + uint32(r.chance.IntN(3)),
		For:  time.Duration(1+r.chance.IntN(30)) * time.Second, Nonce: r.chance.Uint32(),
	}
	r.table.Begin(r.now)
	used := r.table.Used(q.Index)
	if want := r.model.used(q.Index); used != want {
		r.t.Fatalf("key %d takes %d places, want %d", i, used, want)
	}
	if used+int64(q.Cost) > modelLimit {
		r.table.End()
		return
	}
	room := r.table.HasRoom(1, rand.Uint64)
	if want := len(r.model.leases) < lease.Least; room != want {
		r.t.Fatalf("room %v with %d leases", room, len(r.model.leases))
	}
	if !room {
		r.model.stats.Full++
		r.table.End()
		return
	}
	n := r.table.Take(r.now, &q)
	r.table.End()
	r.model.stats.Taken++
	r.known = append(r.known, n)
	r.model.leases = append(r.model.leases,
		modelled{n, q.Index, q.Rule, int64(q.Cost), q.For, r.now.Add(q.For)})
}

// number returns 0, or a number that was given out, usually of a lease that is still live.
func (r *run) number() (key sketch.Index, number uint64) {
	key = r.keys[r.chance.IntN(len(r.keys))]
	switch n := r.chance.IntN(10); {
	case n < 3 || len(r.known) == 0:
		return key, 0
	case n < 8 && len(r.model.leases) > 0:
		l := r.model.leases[r.chance.IntN(len(r.model.leases))]
		return l.key, l.number
	}
	return key, r.known[r.chance.IntN(len(r.known))]
}

func (r *run) release() {
	key, number := r.number()
	at := r.model.at(key, number)
	if got := r.table.Release(r.now, key, number); got != (at >= 0) {
		r.t.Fatalf("release of %x: %v, want %v", number, got, at >= 0)
	}
	if at >= 0 {
		r.model.stats.Released++
		r.model.leases = slices.Delete(r.model.leases, at, at+1)
	}
}

func (r *run) renew() {
	key, number := r.number()
	at := r.model.at(key, number)
	if got := r.table.Renew(r.now, key, number); got != (at >= 0) {
		r.t.Fatalf("renewal of %x: %v, want %v", number, got, at >= 0)
	}
	if at >= 0 {
		l := r.model.leases[at]
		l.until = r.now.Add(l.length)
		r.model.leases = append(slices.Delete(r.model.leases, at, at+1), l)
	}
}

func (r *run) step() {
	switch n := r.chance.IntN(100); {
	case n < 55:
		r.take()
	case n < 80:
		r.release()
	case n < 90:
		r.renew()
	case n < 92:
		r.table.Sweep(r.now)
	default:
		// so that ends are hit exactly
		r.now = r.now.Add(time.Duration(r.chance.Int64N(5)) * 10 * time.Millisecond)
		r.model.expire(r.now)
	}
}

// compare holds the whole table against the model.
func (r *run) compare() {
	stats := r.table.Stats(r.now)
	want := r.model.stats
	want.Room, want.Live = lease.Least, len(r.model.leases)
	if stats != want {
		r.t.Fatalf("%+v, want %+v", stats, want)
	}
	for i, key := range r.keys {
		got := r.table.Leases(r.now, key, lease.Max)
		var mine []lease.Lease
		for _, l := range r.model.leases {
			if l.key == key {
				mine = append(mine, lease.Lease{
					Number: l.number, Cost: l.cost,
					Since: l.until.Add(-l.length), Until: l.until,
				})
			}
		}
		if !slices.Equal(got, mine) {
			r.t.Fatalf("leases of key %d:\n%+v, want\n%+v", i, got, mine)
		}
	}
	for _, rule := range r.rules {
		places, leases := int64(0), 0
		for _, l := range r.model.leases {
			if l.rule == rule {
				places, leases = places+l.cost, leases+1
			}
		}
		use := r.table.Use(r.now, rule)
		held, keys := r.table.Held(r.now, rule, 1<<20)
		sum := int64(0)
		for _, h := range held {
			sum += h.Places
		}
		if int64(use.Places) != places || int(use.Leases) != leases || sum != places ||
			keys != len(held) || keys != use.Keys {
			r.t.Fatalf("rule %d: %+v and %d of %d keys with %d places; want %d places of %d leases",
				rule, use, len(held), keys, sum, places, leases)
		}
	}
}

// The table against the model, step by step on virtual time, 1,000,000 steps: with few leases, and
// full.
func TestTableAgainstAModel(t *testing.T) {
	for _, c := range []struct{ keys, steps int }{{3, 300_000}, {20, 400_000}, {60, 300_000}} {
		t.Run(fmt.Sprint(c.keys, " keys"), func(t *testing.T) {
			t.Parallel()
			r := &run{
				t: t, table: lease.New(0),
				chance: rand.New(rand.NewPCG(16, uint64(c.keys))), now: 1e18,
			}
			r.rules = setRules(r.table, "exports", "uploads")
			hasher := sketch.NewHasher()
			for i := range c.keys {
				r.keys = append(r.keys, hasher.Index(fmt.Appendf(nil, "key-%d", i)))
			}
			for n := range c.steps / slower {
				if r.step(); n%2000 == 0 {
					r.compare()
				}
			}
			r.compare()
			r.now = r.now.Add(time.Hour)
			r.model.expire(r.now)
			r.compare()
			if s := r.table.Stats(r.now); s.Live != 0 || s.Taken == 0 ||
				s.Late == 0 || s.Expired == 0 {
				t.Errorf("not everything happened: %+v", s)
			}
		})
	}
}

func TestAFullTableIsExact(t *testing.T) {
	table := lease.New(lease.MaxBytes)
	rules := setRules(table, "exports")
	now := window.Instant(1e18)
	for n := range lease.Max {
		table.Begin(now)
		if !table.HasRoom(1, rand.Uint64) {
			t.Fatalf("full at %d", n)
		}
		table.Take(now, &lease.Request{
			Index: sketch.Index(n) << 40, Rule: rules[0], Cost: 1,
			For: time.Minute, Nonce: 1,
		})
		table.End()
	}
	table.Begin(now)
	room := table.HasRoom(1, rand.Uint64)
	table.End()
	if s := table.Stats(now); room || s.Live != lease.Max || s.Full != 1 {
		t.Errorf("room %v, %+v", room, s)
	}
	if s := table.Stats(now.Add(time.Minute)); s.Live != 0 || s.Expired != lease.Max {
		t.Errorf("%+v after a minute", s)
	}
}

// Many holders at once never hold more than the limit, and nothing is left behind.
func TestRaces(t *testing.T) {
	const limit = 7
	table := lease.New(0)
	rules := setRules(table, "exports")
	now := window.Instant(1e18)
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			chance := rand.New(rand.NewPCG(1, uint64(g)))
			for range 5000 {
				key := sketch.Index(1 + chance.IntN(3)<<33)
				table.Begin(now)
				used, n := table.Used(key), uint64(0)
				if used < limit {
					n = table.Take(now, &lease.Request{
						Index: key, Rule: rules[0], Cost: 1,
						For: time.Second, Nonce: chance.Uint32(),
					})
				}
				over := table.Used(key) > limit
				table.End()
				if over {
					t.Error("more places than the limit are taken")
				}
				if n != 0 && !table.Release(now, key, n) {
					t.Error("a lease was lost")
				}
			}
		})
	}
	wait.Wait()
	if s := table.Stats(now); s.Live != 0 || s.Released != s.Taken {
		t.Errorf("%+v", s)
	}
}

func TestNumbersOfRulesAreUsedAgain(t *testing.T) {
	table := lease.New(0)
	now := window.Instant(1e18)
	first := setRules(table, "a", "b")
	table.Begin(now)
	table.Take(now, &lease.Request{Index: 1, Rule: first[0], Cost: 1, For: time.Second})
	table.End()
	next := setRules(table, "c", "b")
	if next[0] == first[0] || next[0] == first[1] || next[1] != first[1] {
		t.Errorf("%v then %v: a has a lease still", first, next)
	}
	table.Sweep(now.Add(time.Second))
	if last := setRules(table, "d", "b"); last[0] != first[0] {
		t.Errorf("%v: the number of a is not used again", last)
	}
}

func TestTakingAllocatesNothing(t *testing.T) {
	table := lease.New(0)
	rules := setRules(table, "exports")
	now, key := window.Instant(1e18), []byte("203.0.113.7")
	if n := testing.AllocsPerRun(1000, func() {
		table.Begin(now)
		number := table.Take(now, &lease.Request{
			Index: 7, Key: key, Rule: rules[0],
			Cost: 1, For: time.Second,
		})
		table.End()
		table.Release(now, 7, number)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTakeAndRelease(b *testing.B) {
	table := lease.New(lease.MaxBytes)
	rules := setRules(table, "exports")
	now, key := window.Instant(1e18), []byte("203.0.113.7")
	n := uint64(0)
	for b.Loop() {
		n++
		i := sketch.Index(n * 0x9e3779b97f4a7c15)
		table.Begin(now)
		number := table.Take(now, &lease.Request{
			Index: i, Key: key, Rule: rules[0],
			Cost: 1, For: time.Second,
		})
		table.End()
		table.Release(now, i, number)
	}
}

// The keys with most places are the first ones of all, however few are asked for.
func TestHeldAreTheFirst(t *testing.T) {
	table, now, hasher := lease.New(0), window.Instant(1e18), sketch.NewHasher()
	rules := setRules(table, "exports", "uploads")
	chance := rand.New(rand.NewPCG(3, 16))
	for n := range 300 {
		key := fmt.Appendf(nil, "key-%d", n)
		table.Begin(now)
		table.Take(now, &lease.Request{
			Index: hasher.Index(key), Key: key, Rule: rules[n%2],
			Cost: 1 + chance.Uint32N(50), For: time.Minute,
		})
		table.End()
	}
	all, keys := table.Held(now, rules[0], 1000)
	if len(all) != 150 || keys != 150 || !slices.IsSortedFunc(all,
		func(a, b lease.Held) int { return int(b.Places - a.Places) }) {
		t.Fatalf("%d of %d keys", len(all), keys)
	}
	for _, most := range []int{1, 2, 7, 75, 149, 150, 151} {
		some, keys := table.Held(now, rules[0], most)
		if keys != 150 || len(some) != min(most, 150) {
			t.Fatalf("%d of %d keys, want %d", len(some), keys, most)
		}
		for i := range some {
			if some[i].Places != all[i].Places {
				t.Fatalf("the first %d: place %d has %d, want %d", most, i,
					some[i].Places, all[i].Places)
			}
		}
	}
}

// TestHoldingsInParts: the parts of a table together are all keys that hold places, each once.
func TestHoldingsInParts(t *testing.T) {
	table := lease.New(0)
	rules := setRules(table, "exports", "uploads")
	hasher, now, want := sketch.NewHasher(), window.Instant(1e18), map[lease.Holding]bool{}
	for n := range 500 {
		key := fmt.Appendf(nil, "key-%d", n)
		q := lease.Request{
			Index: hasher.Index(key), Key: key, Rule: rules[n%2],
			Cost: uint32(1 + n%3), For: time.Duration(1+n%5) * time.Minute, Nonce: 1,
		}
		table.Begin(now)
		table.Take(now, &q)
		table.End()
		if n%5 > 0 { // the others have ended by the look
			want[lease.Holding{Rule: q.Rule, Index: q.Index, Places: int64(q.Cost)}] = true
		}
	}
	seen := 0
	for part := range 7 {
		for _, h := range table.AppendHoldings(nil, now.Add(90*time.Second), part, 7) {
			if seen++; !want[h] {
				t.Errorf("part %d: %+v", part, h)
			}
			delete(want, h)
		}
	}
	if seen != 400 || len(want) != 0 {
		t.Errorf("%d seen, %d missing", seen, len(want))
	}
}

// TestFullTableDisplaces: a key that is new to a full table gets its places, and no more; it is the
// oldest leases of the least used keys that go, and none where every key is at its limit.
func TestFullTableDisplaces(t *testing.T) {
	const limit = 4
	table := lease.New(0)
	rules := setRules(table, "exports")
	now, chance := window.Instant(1e18), rand.New(rand.NewPCG(1, 2)) // of a test
	acquire := func(key sketch.Index) (number uint64) {
		now = now.Add(time.Millisecond)
		table.Begin(now)
		defer table.End()
		if key <<= 40; table.Used(key) < limit && table.HasRoom(1, chance.Uint64) {
			number = table.Take(now, &lease.Request{
				Index: key, Rule: rules[0], Cost: 1,
				For: time.Hour, Nonce: chance.Uint32(), Limit: limit,
			})
		}
		return number
	}
	first := acquire(1)
	for key := sketch.Index(2); key <= lease.Least/2; key++ {
		acquire(key)
		acquire(key)
	}
	for key := sketch.Index(5000); table.Stats(now).Live < lease.Least; key++ {
		acquire(key) // a quarter of its limit
	}
	for key := range sketch.Index(50) {
		for range 60 {
			acquire(1000 + key)
		}
		if used := len(table.Leases(now, (1000+key)<<40, lease.Max)); used != limit {
			t.Errorf("key %d of the new ones holds %d, want %d", key, used, limit)
		}
	}
	if s := table.Stats(now); s.Displaced != 50*limit || s.Full != 0 || s.Live != lease.Least {
		t.Errorf("%+v", s)
	}
	for key := range sketch.Index(3000) {
		for range limit {
			acquire(10_000 + key)
		}
	}
	if s := table.Stats(now); s.Full == 0 || s.Live != lease.Least {
		t.Errorf("every key is at its limit: %+v", s)
	}
	if table.ReleaseByNumber(now, first) {
		t.Error("the release of a displaced lease is not late")
	}
}
