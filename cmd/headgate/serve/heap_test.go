package serve

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const mebi = 1 << 20

// TestHeapLimit checks that the limit follows `memory`, and never comes so near to the memory in
// use that the collector would run without end.
func TestHeapLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ memory, live, other, want int64 }{
		{64, 70, 4, 92},     // memory, a sixteenth, and heapBesides
		{256, 280, 6, 300},  // 280 + 6, a 32nd of that, and 6
		{256, 600, 10, 641}, // above the limit: it gives way
		{4096, 4400, 60, 4692},
		{1, 5, 3, 25},
	} {
		g := openHeapGuard(func(string) string { return "" }, c.memory*mebi)
		got := g.limit(heapUse{c.live * mebi, c.other * mebi})
		if got/mebi != c.want {
			t.Errorf("memory %d MiB, %d live, %d besides: limit %d MiB, want %d", c.memory, c.live,
				c.other, got/mebi, c.want)
		}
		if goal := (got - c.other*mebi) * 97 / 100; goal < c.live*mebi+
			c.live*mebi/headroomShare*9/10 {
			t.Errorf("memory %d MiB, %d live: a collection is due at %d MiB",
				c.memory, c.live, goal/mebi)
		}
	}
}

// TestHeapLimitOfTheEnvironment checks that a limit which the environment sets is left alone.
func TestHeapLimitOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"off", "1GiB"} {
		g := openHeapGuard(func(name string) string {
			return map[string]string{"GOMEMLIMIT": set}[name]
		}, 64*mebi)
		if g.run(t.Context()); g != nil { // and comes back
			t.Errorf("GOMEMLIMIT=%s: a guard", set)
		}
	}
}

// TestHeapGuard checks that the limit follows the memory in use up and down, and is restored at the
// end.
func TestHeapGuard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var limit, live atomic.Int64
		limit.Store(1 << 62)
		live.Store(70 * mebi)
		g := openHeapGuard(func(string) string { return "" }, 64*mebi)
		g.setLimit = limit.Swap
		g.look = func() heapUse { return heapUse{live: live.Load()} }
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { g.run(ctx); close(done) }()
		for _, step := range []struct{ live, want int64 }{{70, 92}, {300, 315}, {70, 92}} {
			live.Store(step.live * mebi)
			time.Sleep(heapLook)
			synctest.Wait()
			if got := limit.Load() / mebi; got != step.want {
				t.Errorf("%d MiB live: limit %d MiB, want %d", step.live, got, step.want)
			}
		}
		stop()
		<-done
		if limit.Load() != 1<<62 {
			t.Errorf("left behind: %d", limit.Load())
		}
	})
}

// TestLookAtHeap checks that the figures read from the runtime are those that its limit counts.
func TestLookAtHeap(t *testing.T) {
	block := make([]byte, 32*mebi)
	debug.FreeOSMemory() // collects
	use := lookAtHeap()
	if use.live < int64(len(block)) || use.other <= 0 || use.other > use.live*4 {
		t.Errorf("%+v", use)
	}
	block[0] = 1
}
