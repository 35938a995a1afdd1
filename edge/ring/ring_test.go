package ring

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// onBoth runs a test with each protocol on a real memcached.
func onBoth(t *testing.T, test func(t *testing.T, m *memcached, r *Ring)) {
	for protocol, dial := range dials {
		t.Run(protocol, func(t *testing.T) {
			m := startMemcached(t)
			test(t, m, openRing(t, Config{
				Servers: []Server{m.Server},
				Timeout: unhurried, Dial: dial,
			}))
		})
	}
}

func TestDoAddsUp(t *testing.T) {
	for protocol, dial := range dials {
		t.Run(protocol, func(t *testing.T) {
			servers := []Server{
				startMemcached(t).Server, startMemcached(t).Server,
				startMemcached(t).Server,
			}
			r := openRing(t, Config{Servers: servers, Timeout: unhurried, Dial: dial})
			for round := range uint64(3) {
				ops := adds(5000, 3, 7)
				r.Do(t.Context(), ops)
				wantTotals(t, ops, 7*(round+1))
			}
			for i, s := range r.Stats() {
				if !s.Up || !r.Up(i) || s.Protocol != protocol || s.LastSuccess.IsZero() ||
					s.LastError != "" || s.Errors != (ServerStats{}).Errors {
					t.Errorf("server %d: %+v", i, s)
				}
				if want := uint64(3 * (5000 + 2 - i) / 3); s.Ops/3 != want/3 {
					t.Errorf("server %d counted %d ops, want %d", i, s.Ops, want)
				}
			}
		})
	}
}

func TestOneOp(t *testing.T) {
	onBoth(t, func(t *testing.T, m *memcached, r *Ring) {
		m.raw("set " + string(textKey(4)) + " 0 0 20\r\n18446744073709551615")
		m.raw("set " + string(textKey(5)) + " 0 0 2\r\nno")
		m.raw("set " + string(textKey(6)) + " 0 0 3\r\n99 ")
		m.raw("set " + string(textKey(7)) + " 0 0 24\r\n100000000000000000000000")
		for _, c := range []struct {
			what  string
			op    Op
			total uint64
			err   error
			sent  bool
		}{
			{"a look at nothing", Op{Key: keyOf(1)}, 0, nil, false},
			{"it created nothing", Op{Key: keyOf(1)}, 0, nil, false},
			{"a look at another", Op{Key: keyOf(3)}, 0, nil, false},
			{"creates", Op{Key: keyOf(1), Delta: 5, TTL: 60}, 5, nil, true},
			{"adds", Op{Key: keyOf(1), Delta: 6, TTL: 60}, 11, nil, true},
			{"looks", Op{Key: keyOf(1)}, 11, nil, false},
			{
				"the largest",
				Op{Key: keyOf(2), Delta: math.MaxUint64, TTL: MaxTTL},
				math.MaxUint64, nil, true,
			},
			{"wraps", Op{Key: keyOf(2), Delta: 2, TTL: 60}, 0, ErrWrapped, true},
			{"another's wraps", Op{Key: keyOf(4), Delta: 1, TTL: 60}, 0, ErrWrapped, true},
			{"no number", Op{Key: keyOf(5), Delta: 1, TTL: 60}, 0, ErrValue, false},
			{"a look at no number", Op{Key: keyOf(5)}, 0, ErrValue, false},
			{"a number and a space", Op{Key: keyOf(6), Delta: 1, TTL: 60}, 100, nil, true},
			{"too long a number", Op{Key: keyOf(7), Delta: 1, TTL: 60}, 0, ErrValue, false},
		} {
			ops := []Op{c.op}
			r.Do(t.Context(), ops)
			op := ops[0]
			if !errors.Is(op.Err, c.err) || (c.err == nil) != (op.Err == nil) ||
				op.Err == nil && op.Total != c.total {
				t.Errorf("%s: total %d (%v), want %d (%v)", c.what, op.Total,
					op.Err, c.total, c.err)
			}
			if op.Err != nil && op.Sent != c.sent {
				t.Errorf("%s: sent %v", c.what, op.Sent)
			}
		}
		if got := m.raw("mg " + string(textKey(3))); got != "EN" {
			t.Errorf("a look created a counter: %s", got)
		}
		if s := r.Stats()[0]; !s.Up || s.Opened != 0 || s.Errors[KindCounter] != 5 {
			t.Errorf("what others wrote is no fault of the server: %+v", s)
		}
	})
}

func textKey(i int) []byte { k := keyOf(i); return k[:] }

func TestCountersExpire(t *testing.T) {
	onBoth(t, func(t *testing.T, m *memcached, r *Ring) {
		ops := []Op{{Key: keyOf(1), Delta: 1, TTL: 1000}}
		for range 2 {
			r.Do(t.Context(), ops)
			left, ok := strings.CutPrefix(m.raw("mg "+string(textKey(1))+" t"), "HD t")
			if !ok || left != "1000" && left != "999" && left != "998" {
				t.Errorf("it lives %q seconds more", left)
			}
			ops[0].TTL = 5 // prolongs nothing, and shortens nothing
		}
	})
}

// TestNodesTogether has several rings, as the nodes of a PoP, add to the same new counters at once.
func TestNodesTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, m *memcached, r *Ring) {
		const nodes, counters, rounds = 4, 50, 10
		var done sync.WaitGroup
		for range nodes {
			node := openRing(t, Config{
				Servers: []Server{m.Server}, Timeout: unhurried,
				Dial: dials[r.protocolOf(t)],
			})
			done.Go(func() {
				for range rounds {
					ops := adds(counters, 1, 3)
					node.Do(t.Context(), ops)
					for _, op := range ops {
						if op.Err != nil {
							t.Error(op.Err)
						}
					}
				}
			})
		}
		done.Wait()
		ops := adds(counters, 1, 0)
		r.Do(t.Context(), ops)
		wantTotals(t, ops, nodes*rounds*3)
	})
}

// protocolOf connects and returns the protocol that is spoken.
func (r *Ring) protocolOf(t testing.TB) string {
	r.Do(t.Context(), adds(1, 1, 0))
	return r.Stats()[0].Protocol
}

func TestNutcrackerIsSpokenToInClassic(t *testing.T) {
	behind := []*memcached{startMemcached(t), startMemcached(t)}
	proxy := startNutcracker(t, behind...)
	r := openRing(t, Config{Servers: []Server{proxy}, Timeout: unhurried})
	for round := range uint64(2) {
		ops := adds(2000, 1, 2)
		r.Do(t.Context(), ops)
		wantTotals(t, ops, 2*(round+1))
	}
	if s := r.Stats()[0]; s.Protocol != "classic" || !s.Up {
		t.Errorf("%+v", s)
	}
	for _, m := range behind { // each holds a part
		direct := openRing(t, Config{Servers: []Server{m.Server}, Timeout: unhurried})
		ops := adds(2000, 1, 0)
		direct.Do(t.Context(), ops)
		held := 0
		for _, op := range ops {
			if op.Total == 4 {
				held++
			}
		}
		if held == 0 || held == len(ops) {
			t.Errorf("one holds %d of %d counters", held, len(ops))
		}
	}
}

func TestInvalidOpsAreNotSent(t *testing.T) {
	f := &fake{}
	r := openRing(t, Config{Servers: make([]Server, 2), Dial: f.pipe})
	var broken Key
	copy(broken[:], "hg:with a space")
	ops := []Op{
		{Key: keyOf(1), Server: -1},
		{Key: keyOf(1), Server: 2},
		{Key: keyOf(1), Delta: 1},
		{Key: keyOf(1), Delta: 1, TTL: MaxTTL + 1},
		{Key: broken},
		{},
	}
	r.Do(t.Context(), ops)
	for i, op := range ops {
		if !errors.Is(op.Err, ErrInvalid) || op.Sent {
			t.Errorf("op %d: %v, sent %v", i, op.Err, op.Sent)
		}
	}
	if f.questions() != 0 || r.Up(-1) || r.Up(2) || r.Up(0) {
		t.Errorf("asked %d times", f.questions())
	}
}

func TestNewErrors(t *testing.T) {
	for what, c := range map[string]Config{
		"no server":        {},
		"too many":         {Servers: make([]Server, MaxServers+1)},
		"negative timeout": {Servers: make([]Server, 1), Timeout: -1},
		"long timeout":     {Servers: make([]Server, 1), Timeout: MaxTimeout + 1},
	} {
		if r, err := New(c); err == nil {
			t.Errorf("%s: no error", what)
			r.Close()
		}
	}
}

func TestClose(t *testing.T) {
	dialling := make(chan bool, 3)
	stuck := func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialling <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r := openRing(t, Config{Servers: make([]Server, 3), Timeout: MaxTimeout, Dial: stuck})
	ops, started := adds(30, 3, 1), time.Now()
	var done sync.WaitGroup
	done.Go(func() { r.Do(context.Background(), ops) })
	<-dialling
	done.Go(r.Close)
	done.Go(r.Close)
	done.Wait()
	if took := time.Since(started); took >= MaxTimeout {
		t.Errorf("closing took %v", took)
	}
	for range 2 { // the Do that was under way, and one after
		for _, op := range ops {
			if !errors.Is(op.Err, ErrClosed) || op.Sent {
				t.Fatalf("%v, sent %v", op.Err, op.Sent)
			}
		}
		r.Do(t.Context(), ops)
	}
}

// TestOneBehindTheProxyIsAway kills one of two servers behind twemproxy: the other's counters go
// on.
func TestOneBehindTheProxyIsAway(t *testing.T) {
	behind := []*memcached{startMemcached(t), startMemcached(t)}
	r := openRing(t, Config{Servers: []Server{startNutcracker(t, behind...)}, Timeout: unhurried})
	ops := adds(200, 1, 1)
	r.Do(t.Context(), ops)
	wantTotals(t, ops, 1)

	behind[0].kill()
	for i := range uint64(2 * failuresToOpen) {
		failed, total := 0, i+2
		r.Do(t.Context(), ops)
		for _, op := range ops {
			switch {
			case errors.Is(op.Err, ErrServer):
				failed++
			case op.Err != nil || op.Total != total:
				t.Fatalf("total %d (%v), want %d", op.Total, op.Err, total)
			}
		}
		if failed == 0 || failed == len(ops) {
			t.Fatalf("%d of %d failed", failed, len(ops))
		}
	}
	if s := r.Stats()[0]; !s.Up || s.Opened != 0 || s.Errors[KindServer] == 0 {
		t.Errorf("%+v", s)
	}

	behind[1].kill()
	flushes(t, r, 200, isDown)
	behind[0].start()
	behind[1].start()
	flushes(t, r, 200, isWell)
}
