package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// sliceLog is the truth: cost asked for, by key and slice.
type sliceLog map[string]map[uint64]uint64

func (l sliceLog) add(key string, slice uint64) {
	if l[key] == nil {
		l[key] = map[uint64]uint64{}
	}
	l[key][slice]++
}

// TestDemands drives a key below its limit, one that is refused little, and a flood, and looks
// twice a window: each slice is told once, to the slice while no more than a limit was asked for
// since the look before, and else nothing is lost of a sub-window.
func TestDemands(t *testing.T) {
	t.Parallel()
	for _, over := range []time.Duration{time.Second, 10 * time.Second, 24 * time.Hour} {
		const limit = 40
		c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: limit, Window: over})
		m := c.Meter("r")
		names := map[uint64]string{}
		for _, key := range []string{"calm", "over", "flood"} {
			names[uint64(m.Index([]byte(key)))] = key
		}
		truth, told := sliceLog{}, sliceLog{}
		rng := rand.New(rand.NewPCG(1, uint64(over)))
		looked, now := start, start
		for now.Sub(start) < 20*over {
			now = now.Add(over / 400)
			now -= now % Instant(Tick(over))
			for _, k := range []struct {
				key string
				per int
			}{{"calm", 20}, {"over", 9}, {"flood", 1}} { // about 20, 44 and 400 a window
				if rng.IntN(k.per) == 0 && (k.key != "over" || now.Sub(start)%(4*over) < 2*over) {
					ask(m, now, k.key, 1)
					truth.add(k.key, m.slice(now))
				}
			}
			if now.Sub(looked) >= over/2 {
				c.Demands(now, looked, 0, 1, func(d *Demand) {
					tell(t, told,
						names[uint64(d.Index)], d)
				})
				looked = now
			}
		}
		compareSlices(t, over, truth, told, m.slice(looked)/SliceParts*SliceParts)
	}
}

// tell records the fresh slices of d.
func tell(t *testing.T, told sliceLog, key string, d *Demand) {
	t.Helper()
	if d.Fresh > WholeSlices || d.Rule != "r" {
		t.Fatalf("%+v", d)
	}
	for age := range d.Fresh {
		for range d.Cost[age] {
			told.add(key, d.Newest-uint64(age))
		}
	}
}

func compareSlices(t *testing.T, over time.Duration, truth, told sliceLog, until uint64) {
	t.Helper()
	for key, slices := range truth {
		subs, off := map[uint64]int{}, 0
		for slice, n := range slices {
			if slice < until {
				got := told[key][slice]
				off += int(max(n, got) - min(n, got))
				subs[slice/SliceParts] += int(n)
			}
		}
		for slice, n := range told[key] {
			subs[slice/SliceParts] -= int(n)
		}
		for sub, n := range subs {
			if n != 0 {
				t.Errorf("%v, %s: %d units of sub-window %d are lost", over, key, n, sub)
			}
		}
		if off > 0 && key != "flood" {
			t.Errorf("%v, %s: %d units in another slice", over, key, off)
		}
	}
}

// TestDemandsInParts: all parts together are all suspects, each once.
func TestDemandsInParts(t *testing.T) {
	t.Parallel()
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Second})
	m, want := c.Meter("r"), 300
	for k := range want {
		ask(m, start, fmt.Sprint(k), 1)
	}
	seen := map[uint64]bool{}
	for part := range 7 {
		c.Demands(start.Add(500*time.Millisecond), start, part, 7, func(d *Demand) {
			if seen[uint64(d.Index)] {
				t.Error("told twice")
			}
			seen[uint64(d.Index)] = true
		})
	}
	if len(seen) != want {
		t.Errorf("%d suspects told of, want %d", len(seen), want)
	}
}

// TestKeysAreMet: keys and refused keys are counted once each, anew when the limit changes, and
// kept when it does not.
func TestKeysAreMet(t *testing.T) {
	t.Parallel()
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 2, Window: time.Minute})
	for k := range 100 {
		for range 1 + k%4 {
			ask(c.Meter("r"), start, fmt.Sprint(k), 1)
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if got < want*0.9 || got > want*1.1 {
			t.Errorf("%s: %.1f, want about %v", what, got, want)
		}
	}
	met, refused := c.Meter("r").Keys()
	near("met", met, 100)
	near("refused", refused, 50)
	c.Configure([]Limit{{Name: "r", Limit: 2, Window: time.Minute}})
	met, refused = c.Meter("r").Keys()
	near("met, nothing changed", met, 100)
	near("refused, nothing changed", refused, 50)
	c.Configure([]Limit{{Name: "r", Limit: 3, Window: time.Minute}})
	met, refused = c.Meter("r").Keys()
	near("met under another limit: those that still count", met, 100)
	near("refused under another limit", refused, 0)
	if from := c.Meter("r").SeenFrom(); from != 0 {
		t.Errorf("with room for all keys are seen from %d", from)
	}
}

// BenchmarkDemands looks at keys with a full log each: a thousand marks are gone through under the
// lock of a key.
func BenchmarkDemands(b *testing.B) {
	const keys, limit = 1000, 1000
	c := newTestCounter(b, 64<<20, Limit{Name: "r", Limit: limit, Window: 10 * time.Second})
	m, now := c.Meter("r"), start
	for n := range keys * limit {
		now = start.Add(time.Duration(n/keys) * 9 * time.Millisecond)
		ask(m, now, fmt.Sprint(n%keys), 1)
	}
	for b.Loop() {
		c.Demands(now, start, 0, 1, func(*Demand) {})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
}

// BenchmarkLevels looks at keys of a bucket, all of which were refused something.
func BenchmarkLevels(b *testing.B) {
	c := NewCounter(1 << 20)
	c.Configure([]Limit{{Name: "r", Limit: 10, Window: time.Second, Burst: 20}})
	m, now := c.Meter("r"), Instant(1<<40)
	const keys = 100
	for k := range keys {
		key := fmt.Appendf(nil, "k%d", k)
		for range 30 {
			m.Admit(now, m.Offer(now, m.Index(key), key, 1, 0), 1)
		}
	}
	n := 0
	for b.Loop() {
		c.Levels(now, now, 0, 1, func(*Level) { n++ })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(1, n)), "ns/key")
}

// TestUnslottedOfNumbers: a key may go without a slot as long as the greatest number lets it.
func TestUnslottedOfNumbers(t *testing.T) {
	c := NewCounter(MinMemory)
	c.Configure([]Limit{{
		Name: "r", Limit: 5, Window: 10 * time.Second, Numbers: []Number{{Limit: 640}},
	}})
	c.divisor.Store(4)
	if most := c.Meter("r").Unslotted().Most; most < 160 {
		t.Errorf("a key of 640 may have %d, which is less than a quarter", most)
	}
}
