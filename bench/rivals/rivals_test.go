package rivals

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// everyone is the floors, the rivals and headgate.
func everyone() []Subject { return append(Subjects(), headgate()) }

// BenchmarkTake is one decision, key in hand. Run with -cpu 1,2: each goroutine walks the stream
// from its own place.
func BenchmarkTake(b *testing.B) {
	for _, stream := range []Stream{Hot(), Zipf()} {
		for _, s := range everyone() {
			b.Run(stream.Name+"/"+s.Name, func(b *testing.B) { benchmark(b, s, stream.Keys) })
		}
	}
}

func benchmark(b *testing.B, s Subject, keys []string) {
	maker, err := s.New(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	take := maker()
	for _, key := range keys {
		take(key) // every key is known: the steady state is measured
	}
	runtime.GC() // or the collection that the setup began is part of the figures
	var starts atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		take := maker()
		at := int(starts.Add(1)) * len(keys) / 3
		for p.Next() {
			if at++; at >= len(keys) {
				at = 0
			}
			take(keys[at])
		}
	})
}

// BenchmarkMemory reports the memory of a million keys, seen once each, above the keys' own bytes.
func BenchmarkMemory(b *testing.B) {
	keys := Distinct(wideKeys)
	for _, s := range everyone() {
		if !s.PerKey {
			continue
		}
		b.Run(s.Name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(bytesPerKey(b, s, keys), "B/key")
			}
		})
	}
}

func bytesPerKey(b *testing.B, s Subject, keys []string) float64 {
	before := heap()
	maker, err := s.New(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	take := maker()
	for _, key := range keys {
		take(key)
	}
	used := heap() - before
	runtime.KeepAlive(take)
	runtime.KeepAlive(keys)
	return float64(used) / float64(len(keys))
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestEverySubjectLimits keeps the comparison honest: whoever is measured must also do the work.
func TestEverySubjectLimits(t *testing.T) {
	for _, s := range everyone() {
		if s.Name == "hash-and-fetch" {
			continue
		}
		maker, err := s.New(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		take := maker()
		allowed := 0
		for range 3 * limit {
			if take("203.0.113.7") {
				allowed++
			}
		}
		if allowed < limit || allowed > limit+limit/10 {
			t.Errorf("%s let %d of %d through, want %d", s.Name, allowed, 3*limit, limit)
		}
		if !take("198.51.100.1") {
			t.Errorf("%s refused the first request of another key", s.Name)
		}
	}
}
