package gossip

import (
	"bytes"
	"io"
	"net"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
	"github.com/headgate-dev/headgate/gossip/guard/guardtest"
)

// flood sends the stream again and again from many connections at once until stop says so.
func flood(addr string, what []byte, stop *atomic.Bool) {
	var wg sync.WaitGroup
	for range guard.MaxHostStreams {
		wg.Go(func() {
			for !stop.Load() {
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				if err != nil {
					continue
				}
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = conn.Write(what)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
		})
	}
	wg.Wait()
}

// mapped is the process's memory in use, bytes: the quantity that RSS follows.
func mapped() uint64 {
	all := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(all)
	return all[0].Value.Uint64() - all[1].Value.Uint64()
}

// TestMemberTakesNoMemory: messages of a member that would unpack to many times their size cost the
// node at most 32 MiB, and their streams are counted.
func TestMemberTakesNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes memory itself")
	}
	members := bytes.Repeat([]byte{0x80}, 900<<10)
	for name, plain := range map[string][]byte{
		"compressed":              guardtest.Bomb(t, 39<<20),
		"a million members":       guardtest.PushPull(1<<20, 0, nil),
		"a million empty members": guardtest.PushPull(900<<10, 0, members),
		"20 MiB of state":         guardtest.PushPull(0, 20<<20, nil),
		"maps in a map": append(append([]byte{6, 0x81, 0xa1, 'x', 0xdd}, 0, 14, 16, 0),
			members...),
		"as long as it may be, good": guardtest.PushPull(0, 256<<10,
			append([]byte{1, 9}, make([]byte, 256<<10-2)...)),
	} {
		t.Run(name, func(t *testing.T) {
			a := newPeer(t, "a", func(c *Config) { c.Merge = func([]byte) {} })
			debug.FreeOSMemory()
			before, most := mapped(), uint64(0)
			var stop atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() { flood(a.Addr().String(), guardtest.Stream(t, a.cfg.Key, plain), &stop) })
			streams := a.Stats().Streams.In
			eventually(t, "many streams came", func() bool {
				most = max(most, mapped())
				return a.Stats().Streams.In > streams+100
			})
			stop.Store(true)
			wg.Wait()
			t.Logf("%d bytes a stream: %.1f MiB more", len(plain),
				(float64(most)-float64(before))/(1<<20))
			if most > before+32<<20 {
				t.Errorf("took %d MiB more, want at most 32", (most-before)>>20)
			}
		})
	}
}
