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

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// fault is one of a real memcached, and how it is undone.
type fault struct {
	strike, heal func(m *memcached)
	kept         bool // the counters outlive it
}

// faults are what a test strikes with.
var faults = map[string]fault{
	"kill -9": {
		strike: func(m *memcached) { m.kill() },
		heal:   func(m *memcached) { m.start() },
	},
	"SIGSTOP": {
		strike: func(m *memcached) {
			m.signal(syscall.SIGSTOP)
			// until all of it stands
			if _, err := syscall.Wait4(m.cmd.Process.Pid, nil, syscall.WUNTRACED, nil); err != nil {
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
	for name, f := range faults {
		for protocol, dial := range dials {
			for _, n := range []int{2, 2000} { // one operation each, and many
				t.Run(name+"/"+protocol, func(t *testing.T) {
					var err error
					// on a busy machine the other server may be late too, which proves nothing
					for range 5 {
						if err = strikeAndHeal(t, f, n,
							Config{Dial: dial, Timeout: 4 * DefaultTimeout}); err == nil {
							return
						}
						t.Log(err)
					}
					t.Error(err)
				})
			}
		}
	}
}

// strikeAndHeal is one try of TestFaults. What a busy machine can bring about is its error; what
// may never happen fails the test.
func strikeAndHeal(t *testing.T, f fault, n int, c Config) error {
	t.Helper()
	well, struck := startMemcached(t), startMemcached(t)
	c.Servers = []Server{well.Server, struck.Server}
	r := openRing(t, c)
	if _, err := flushInTime(t, r, n, isBack); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	f.strike(struck)
	if err := flushStruck(t, r, n); err != nil {
		return fmt.Errorf("under the fault: %w", err)
	}
	f.heal(struck)
	switch took, err := flushInTime(t, r, n, isBack); {
	case err != nil:
		return fmt.Errorf("afterwards: %w", err)
	case took > 2*time.Second+slack || !r.Up(1):
		return fmt.Errorf("recovered after %v", took)
	}
	return lookAfterwards(t, r, f.kept)
}

// isBack tells whether both servers answer, and no operation failed. On a busy machine the last of
// many operations may have no time left, which is nobody's failure: see TestLateIsNoFailure.
func isBack(ops []Op) bool {
	answered := [2]bool{}
	for i, op := range ops {
		if op.Err != nil && !errors.Is(op.Err, ErrLate) {
			return false
		}
		answered[i%2] = answered[i%2] || op.Err == nil
	}
	return answered == [2]bool{true, true}
}

// flushInTime is tryFlushes on a real machine.
func flushInTime(t *testing.T, r *Ring, n int, enough func(ops []Op) bool) (time.Duration, error) {
	t.Helper()
	took, longest, err := tryFlushes(t.Context(), r, n, enough)
	if err == nil && longest > 2*r.servers[0].timeout+slack {
		err = fmt.Errorf("a flush took %v", longest)
	}
	return took, err
}

// flushStruck flushes until the breaker of server 1 is open, and a little longer. The struck server
// answers nothing.
func flushStruck(t *testing.T, r *Ring, n int) (err error) {
	t.Helper()
	downs := 0
	_, late := flushInTime(t, r, n, func(ops []Op) bool {
		for i, op := range ops {
			if i%2 == 0 && op.Err != nil && !errors.Is(op.Err, ErrLate) {
				err = fmt.Errorf("the other server failed: %w", op.Err)
			}
			if i%2 == 1 && op.Err == nil {
				t.Fatal("the struck server answered")
			}
		}
		if isDown(ops) {
			downs++
		}
		return err != nil || downs == 3
	})
	if s := r.Stats(); err == nil && (s[1].Up || s[1].Opened != 1 || !s[0].Up || s[0].Opened != 0) {
		err = fmt.Errorf("%+v", s)
	}
	return errors.Join(err, late)
}

// lookAfterwards looks at one counter of the healed server. Each flush before all was well may have
// added to it.
func lookAfterwards(t *testing.T, r *Ring, kept bool) error {
	t.Helper()
	ops := []Op{{Key: keyOf(1), Server: 1}}
	r.Do(t.Context(), ops)
	if op := ops[0]; op.Err != nil || op.Total == 0 || kept && op.Total < 2 ||
		!kept && op.Total > 2 {
		//nolint:errorlint // it may be nil
		return fmt.Errorf("total %d, error %v", op.Total, op.Err)
	}
	return nil
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
		if s := r.Stats()[0]; s.Errors != (ServerStats{}).Errors || !s.Up {
			t.Errorf("%+v", s)
		}
	})
}

// TestEviction has another writer fill a small server: counters go, and begin anew without an
// error.
func TestEviction(t *testing.T) {
	edgetest.Alone(t)
	for protocol, dial := range dials {
		t.Run(protocol, func(t *testing.T) {
			// its threads that move items and pages take memory away from who waits for it
			m := startMemcached(t, "-m", "8", "-o", "no_lru_maintainer,slab_automove=0")
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
