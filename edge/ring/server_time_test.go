package ring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// flushEvery is how often the daemon calls Do.
const flushEvery = 100 * time.Millisecond

// slack is the time that a busy machine may add to one that a test bounds.
const slack = time.Second

// flushes is tryFlushes where no Do may take longer than it promises, to the nanosecond: in a
// bubble, or under a timeout that no machine is too busy for.
func flushes(t *testing.T, r *Ring, n int, enough func(ops []Op) bool) time.Duration {
	t.Helper()
	took, longest, err := tryFlushes(t.Context(), r, n, enough)
	if longest > 2*r.servers[0].timeout {
		t.Errorf("a flush took %v", longest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return took
}

// tryFlushes runs Do at each flush with as many operations until enough says so, and returns how
// long that took and how long the longest Do did.
func tryFlushes(
	ctx context.Context, r *Ring, n int, enough func(ops []Op) bool,
) (took, longest time.Duration, err error) {
	started := time.Now()
	ticks := time.NewTicker(flushEvery)
	defer ticks.Stop()
	for time.Since(started) < patience {
		ops, begun := adds(n, len(r.Stats()), 1), time.Now()
		r.Do(ctx, ops)
		longest = max(longest, time.Since(begun))
		if enough(ops) {
			return time.Since(started), longest, nil
		}
		<-ticks.C
	}
	return patience, longest, fmt.Errorf("it did not come to pass within %v: %+v",
		patience, r.Stats())
}

// isDown tells whether the last operation was not even tried.
func isDown(ops []Op) bool { return errors.Is(ops[len(ops)-1].Err, ErrDown) }

// isWell tells whether all operations were answered.
func isWell(ops []Op) bool {
	for _, op := range ops {
		if op.Err != nil {
			return false
		}
	}
	return true
}

// slowness are servers that answer in time or not, and the longest that Do may take with few and
// with many operations.
var slowness = map[string]struct {
	wait      func(conn net.Conn, i int, answer string)
	few, many time.Duration
}{
	"stopped": {func(net.Conn, int, string) { after(time.Minute) }, DefaultTimeout, DefaultTimeout},
	"slow": {
		func(net.Conn, int, string) { after(40 * time.Millisecond) }, 80 * time.Millisecond,
		2 * DefaultTimeout,
	},
	"slow by the chunk": {func(_ net.Conn, i int, _ string) {
		if i%chunkOps == 1 { // the first command after the probe
			after(40 * time.Millisecond)
		}
	}, 80 * time.Millisecond, 2 * DefaultTimeout},
	"one byte a second": {trickle, DefaultTimeout, DefaultTimeout},
	"stops halfway": {func(_ net.Conn, i int, _ string) {
		if i == 20 {
			after(time.Minute)
		}
	}, 0, DefaultTimeout},
}

// trickle says one byte a second for a while.
func trickle(conn net.Conn, _ int, answer string) {
	for i := range answer {
		after(time.Second)
		if _, err := conn.Write([]byte{answer[i]}); err != nil {
			return
		}
	}
}

func TestDoTakesBoundedTime(t *testing.T) {
	for name, c := range slowness {
		for protocol, classic := range map[string]bool{"meta": false, "classic": true} {
			for n, most := range map[int]time.Duration{1: c.few, 3000: c.many} {
				t.Run(name+"/"+protocol, func(t *testing.T) {
					f := &fake{classic: classic, wait: c.wait}
					inBubble(t, f, func(t *testing.T) {
						r := openRing(t, Config{Servers: make([]Server, 1), Dial: f.pipe})
						ops, started := adds(n, 1, 1), time.Now()
						r.Do(t.Context(), ops)
						if took := time.Since(started); took > most {
							t.Errorf("%d ops took %v, more than %v", n, took, most)
						}
						if errors.Is(ops[n-1].Err, errUnanswered) || n > 1 && ops[n-1].Err == nil {
							t.Errorf("the last ended with %v", ops[n-1].Err)
						}
						if n > chunkOps && ops[n-1].Sent {
							t.Error("the last is said to be sent")
						}
					})
				})
			}
		}
	}
}

// TestBlackholeOpensAndRecovers has a server that cannot even be dialled for a while, beside one
// that is well.
func TestBlackholeOpensAndRecovers(t *testing.T) {
	for _, classic := range []bool{false, true} {
		f := &fake{classic: classic}
		inBubble(t, f, func(t *testing.T) {
			black := true
			dial := func(ctx context.Context, network, address string) (net.Conn, error) {
				if black && address == "dark:1" {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return f.pipe(ctx, network, address)
			}
			r := openRing(t, Config{Servers: []Server{
				{Host: "light", Port: 1},
				{Host: "dark", Port: 1},
			}, Dial: dial})
			took := flushes(t, r, 2, func(ops []Op) bool {
				if ops[0].Err != nil || ops[1].Sent {
					t.Errorf("the well server: %v; the other: sent %v", ops[0].Err, ops[1].Sent)
				}
				return !r.Up(1) && r.Stats()[1].Opened == 1
			})
			if took > probeEvery {
				t.Errorf("the breaker opened after %v", took)
			}
			took = flushes(t, r, 2, isDown)
			if took != 0 { // at once
				t.Errorf("an open breaker let wait for %v", took)
			}
			black = false
			if took = flushes(t, r, 2, isWell); took > 2*time.Second || !r.Up(1) {
				t.Errorf("recovered after %v: %+v", took, r.Stats()[1])
			}
			if s := r.Stats()[1]; s.Timeouts < 2 || s.Errors[KindTimeout] < 2 ||
				s.Errors[KindDown] == 0 || s.LastError == "" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestProbesAreSingle holds an open breaker to one operation each probe interval.
func TestProbesAreSingle(t *testing.T) {
	f := &fake{wait: func(net.Conn, int, string) { after(time.Minute) }}
	inBubble(t, f, func(t *testing.T) {
		r := openRing(t, Config{Servers: make([]Server, 1), Dial: f.pipe})
		flushes(t, r, 5, isDown)
		asked, sent, started := f.questions(), 0, time.Now()
		flushes(t, r, 5, func(ops []Op) bool {
			for _, op := range ops {
				if op.Sent {
					sent++
				}
			}
			return time.Since(started) >= 10*probeEvery
		})
		if sent == 0 || sent > 10 || f.questions()-asked != sent {
			t.Errorf("sent %d operations in the time of 10 probes; asked %d", sent,
				f.questions()-asked)
		}
	})
}

// TestContextEnds has a context end an exchange: Do returns then, and nobody is blamed.
func TestContextEnds(t *testing.T) {
	for _, classic := range []bool{false, true} {
		f := &fake{classic: classic, wait: func(net.Conn, int, string) { after(time.Minute) }}
		inBubble(t, f, func(t *testing.T) {
			r := openRing(t, Config{Servers: make([]Server, 1), Dial: f.pipe})
			for range 2 * failuresToOpen {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				ops, started := adds(3, 1, 1), time.Now()
				r.Do(ctx, ops)
				cancel()
				if took := time.Since(started); took != 10*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if !errors.Is(ops[0].Err, context.DeadlineExceeded) || !ops[0].Sent {
					t.Errorf("%v, sent %v", ops[0].Err, ops[0].Sent)
				}
			}
			if s := r.Stats()[0]; s.Opened != 0 || s.Errors[KindCancelled] != 3*2*failuresToOpen {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestLateIsNoFailure has more operations than time: operations that were done count, the others
// come again, nobody is blamed.
func TestLateIsNoFailure(t *testing.T) {
	f := &fake{classic: true, wait: func(net.Conn, int, string) { after(time.Millisecond) }}
	inBubble(t, f, func(t *testing.T) {
		r := openRing(t, Config{Servers: make([]Server, 1), Dial: f.pipe})
		for range 2 * failuresToOpen {
			ops := adds(3000, 1, 1)
			r.Do(t.Context(), ops)
			if last := ops[len(ops)-1]; ops[0].Err != nil ||
				!errors.Is(last.Err, ErrLate) || last.Sent {
				t.Errorf("first: %v; last: %v, sent %v", ops[0].Err, last.Err, last.Sent)
			}
		}
		if s := r.Stats()[0]; !s.Up || s.Opened != 0 || s.Errors[KindLate] == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestLateBetweenCommands has so little time that an addition ends between finding no counter and
// creating one: nothing was counted, and nobody is blamed.
func TestLateBetweenCommands(t *testing.T) {
	f := &fake{classic: true, wait: func(net.Conn, int, string) { after(40 * time.Millisecond) }}
	inBubble(t, f, func(t *testing.T) {
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			after(8 * time.Millisecond)
			return f.pipe(ctx, network, address)
		}
		r := openRing(t, Config{Servers: make([]Server, 1), Dial: dial})
		for range failuresToOpen {
			ops := adds(1, 1, 1)
			r.Do(t.Context(), ops)
			if !errors.Is(ops[0].Err, ErrLate) || ops[0].Sent {
				t.Errorf("%v, sent %v", ops[0].Err, ops[0].Sent)
			}
			r.servers[0].drop() // its goroutine is idle: the next connects anew
		}
		if s := r.Stats()[0]; s.Opened != 0 || s.LastError != "" || s.Up {
			t.Errorf("%+v", s)
		}
	})
}

// TestSilenceAtTheProbeIsATimeout has a server that does not answer the probe: it is not taken for
// an old one.
func TestSilenceAtTheProbeIsATimeout(t *testing.T) {
	f := &fake{}
	inBubble(t, f, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			f.serving.Go(func() { _, _ = io.Copy(io.Discard, there) })
			return here, nil
		}
		r := openRing(t, Config{Servers: make([]Server, 1), Dial: dial})
		ops, started := adds(2, 1, 1), time.Now()
		r.Do(t.Context(), ops)
		if took := time.Since(started); took != DefaultTimeout || ops[0].Sent {
			t.Errorf("it took %v; sent %v", took, ops[0].Sent)
		}
		if s := r.Stats()[0]; s.Protocol != "" || s.Timeouts != 1 || s.Errors[KindTimeout] != 2 {
			t.Errorf("%+v", s)
		}
	})
}
