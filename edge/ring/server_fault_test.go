//go:build unix

package ring

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// faults are the faults of a real memcached, and how each is undone.
var faults = map[string]struct {
	strike, heal func(m *memcached)
	kept         bool // the counters outlive it
}{
	"kill -9": {
		strike: func(m *memcached) { m.kill() },
		heal:   func(m *memcached) { m.start() },
	},
	"SIGSTOP": {
		strike: func(m *memcached) {
			m.signal(syscall.SIGSTOP)
			if _, err := syscall.Wait4(m.cmd.Process.Pid, nil, syscall.WUNTRACED, nil); err != nil { // until all of it stands
				m.Error(err)
			}
		},
		heal: func(m *memcached) { m.signal(syscall.SIGCONT) },
		kept: true,
	},
}

// TestFaults strikes one of two real servers and heals it. The other never notices; the struck one
// fails, is left alone, and is back within two seconds.
func TestFaults(t *testing.T) {
	for fault, f := range faults {
		for protocol, dial := range dials {
			for _, n := range []int{2, 2000} { // one operation each, and many
				t.Run(fault+"/"+protocol, func(t *testing.T) {
					well, struck := startMemcached(t), startMemcached(t)
					c := Config{Servers: []Server{well.Server, struck.Server}, Dial: dial, Timeout: 10 * DefaultTimeout} // for the one that is well
					r := openRing(t, c)
					flushes(t, r, n, isWell)
					f.strike(struck)
					checkStruck(t, r, n)
					f.heal(struck)
					if took := flushes(t, r, n, isWell); took > 2*time.Second+slack || !r.Up(1) {
						t.Errorf("recovered after %v", took)
					}
					checkAfterwards(t, r, f.kept)
				})
			}
		}
	}
}

// checkStruck flushes until the breaker of server 1 is open, and a little longer.
func checkStruck(t *testing.T, r *Ring, n int) {
	t.Helper()
	downs := 0
	flushes(t, r, n, func(ops []Op) bool {
		for i, op := range ops {
			if i%2 == 0 && op.Err != nil && !errors.Is(op.Err, ErrLate) {
				t.Fatalf("the other server failed: %v", op.Err)
			}
			if i%2 == 1 && op.Err == nil {
				t.Fatal("the struck server answered")
			}
		}
		if isDown(ops) {
			downs++
		}
		return downs == 3
	})
	if s := r.Stats(); s[1].Up || s[1].Opened != 1 || !s[0].Up || s[0].Opened != 0 {
		t.Errorf("%+v", s)
	}
}

// checkAfterwards looks at one counter of the healed server.
func checkAfterwards(t *testing.T, r *Ring, kept bool) {
	t.Helper()
	ops := []Op{{Key: keyOf(1), Server: 1}}
	r.Do(t.Context(), ops)
	if op := ops[0]; op.Err != nil || op.Total == 0 || kept && op.Total < 2 || !kept && op.Total > 2 {
		t.Errorf("total %d (%v)", op.Total, op.Err)
	}
}

// TestRestartBetweenRounds restarts a server while nothing is under way: no operation fails, the
// counters begin anew.
func TestRestartBetweenRounds(t *testing.T) {
	onBoth(t, func(t *testing.T, m *memcached, r *Ring) {
		for range 3 {
			ops := adds(100, 1, 1)
			r.Do(t.Context(), ops)
			wantTotals(t, ops, 1)
			m.kill()
			m.start()
		}
		if s := r.Stats()[0]; s.Errors != [kinds]uint64{} || !s.Up {
			t.Errorf("%+v", s)
		}
	})
}

// TestEviction has another writer fill a small server: counters go, and begin anew without an
// error.
func TestEviction(t *testing.T) {
	for protocol, dial := range dials {
		t.Run(protocol, func(t *testing.T) {
			m := startMemcached(t, "-m", "8")
			for i := range 100 {
				m.raw(fmt.Sprintf("set filler%d 0 0 100000\r\n%s", i, strings.Repeat("x", 100_000)))
			}
			r := openRing(t, Config{Servers: []Server{m.Server}, Timeout: unhurried, Dial: dial})
			const counters = 30_000 // more than fit
			anew := 0
			for round := range uint64(2) {
				ops := adds(counters, 1, 1)
				for part := range slices.Chunk(ops, 1000) { // a timeout each
					r.Do(t.Context(), part)
				}
				for i, op := range ops {
					if op.Err != nil || op.Total == 0 || op.Total > round+1 {
						t.Fatalf("op %d: total %d (%v)", i, op.Total, op.Err)
					}
					if op.Total <= round {
						anew++
					}
				}
			}
			if anew == 0 {
				t.Error("nothing was evicted")
			}
		})
	}
}
