//go:build !race

package surge_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/surge"
)

// full returns a watch with full lists, in a flood that is two thirds of all rows.
func full(tb testing.TB) (w *surge.Watch, now int64) {
	tb.Helper()
	chance := rand.New(rand.NewPCG(3, 4))
	w = surge.New([32]byte{1}, chance.Uint64)
	now = began.UnixNano()
	w.Set(surge.Settings{Sample: 200, Learn: 24 * time.Hour, MinRate: 5}, now)
	var r request.Request
	for range 24 * 60 {
		for range 30 {
			v := visit{
				at: now, client: chance.Uint32(), method: "GET", path: "/a/b", status: 200,
			}
			article(&v, chance)
			v.dress()
			v.fill(&r)
			w.Keep(&r, now, 0, false)
		}
		w.Look(now, false)
		now += 60e9
	}
	w.Set(surge.Settings{Sample: 200, Learn: time.Second, MinRate: 5}, now)
	for i := range 4096 {
		v := visit{at: now, client: chance.Uint32(), method: "GET", path: "/a/b", status: 200}
		article(&v, chance)
		if v.dress(); i%3 != 0 {
			v.headers[odd] = "1"
		}
		v.fill(&r)
		w.Keep(&r, now-int64(4095-i)*5e6, 0, false)
	}
	if is := w.Report(); is.UsualRows < 12_000 {
		tb.Fatalf("usual traffic has %d rows", is.UsualRows)
	}
	return w, now
}

// BenchmarkLook is a look at full lists: 4,096 rows and 14,336.
func BenchmarkLook(b *testing.B) {
	w, now := full(b)
	for b.Loop() {
		w.LookAgain(now)
	}
	b.StopTimer()
	if is := w.Report(); is.State != string(surge.Attack) || is.Rows < 3900 {
		b.Fatalf("%s with %d rows", is.State, is.Rows)
	}
}

// BenchmarkKeep is the copy of a request that was drawn.
func BenchmarkKeep(b *testing.B) {
	w, now := full(b)
	v := visit{at: now, client: 0x20010203, method: "GET", path: "/a/b/c?q=1"}
	v.browse(7, 1)
	var r request.Request
	v.fill(&r)
	b.ReportAllocs()
	for b.Loop() {
		w.Keep(&r, now, 7, false)
	}
}

// TestKeepAllocatesNothing: the copy of a request is in memory that is there.
func TestKeepAllocatesNothing(t *testing.T) {
	w, now := full(t)
	v := visit{at: now, client: 0x20010203, method: "GET", path: "/a/b/c?q=1", country: "DE"}
	v.browse(7, 1)
	var r request.Request
	v.fill(&r)
	if n := testing.AllocsPerRun(100, func() {
		w.Keep(&r, now, 7, false)
		w.Answered(7, 401)
	}); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // of what the first has ended
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryIsFixed: a watch takes 4 MiB with full lists, and no more after many thousand headers
// and clients that are all different.
func TestMemoryIsFixed(t *testing.T) {
	before := heap()
	w, now := full(t)
	w.LookAgain(now)
	first := heap() - before
	if first > 4<<20 {
		t.Errorf("%d bytes", first)
	}
	chance := rand.New(rand.NewPCG(7, 8))
	var r request.Request
	for i := range 60_000 {
		v := visit{at: now, client: chance.Uint32(), method: "GET", path: fmt.Sprint("/", i)}
		v.browse(chance.Uint32(), i%10)
		v.fill(&r)
		name := fmt.Append(nil, "X-", i)
		r.AddHeader(name, name)
		w.Keep(&r, now, uint64(i), false)
		if now += 5e6; i%1000 == 0 {
			w.Look(now, false)
		}
	}
	w.LookAgain(now)
	if then := heap() - before; then > first+first/20 {
		t.Errorf("%d bytes, and then %d", first, then)
	}
	runtime.KeepAlive(w)
}
