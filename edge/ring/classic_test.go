package ring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scripted is a connection on which all answers have come already.
type scripted struct{ answers io.Reader }

func (s scripted) Read(b []byte) (int, error)     { return s.answers.Read(b) }
func (scripted) Write(b []byte) (int, error)      { return len(b), nil }
func (scripted) Close() error                     { return nil }
func (scripted) LocalAddr() net.Addr              { return only{} }
func (scripted) RemoteAddr() net.Addr             { return only{} }
func (scripted) SetDeadline(time.Time) error      { return nil }
func (scripted) SetReadDeadline(time.Time) error  { return nil }
func (scripted) SetWriteDeadline(time.Time) error { return nil }

// scriptedWorker returns a worker whose server answers said.
func scriptedWorker(t testing.TB, said []byte) *worker {
	dial := func(context.Context, string, string) (net.Conn, error) {
		return scripted{bytes.NewReader(said)}, nil
	}
	w := newWorker(newServer(Server{}, Config{Timeout: unhurried, Dial: dial}))
	w.round = &round{ctx: t.Context(), timeout: unhurried, until: time.Now().Add(unhurried)}
	return w
}

// FuzzClassicReply feeds answers to gomemcache as the ring uses it: no panic gets out, and a total
// is the server's answer, to the letter.
func FuzzClassicReply(f *testing.F) {
	for _, lie := range lies {
		f.Add([]byte(lie[:min(len(lie), 2*readBytes)]))
	}
	f.Add([]byte("\n"))              // gomemcache panics: bounds [:-1]
	f.Add([]byte("CLIENT_ERROR \n")) // and: bounds [13:12]
	f.Add([]byte("5\r\n"))
	f.Add([]byte(nonNumeric + "\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		w := scriptedWorker(t, said)
		defer w.close()
		op := Op{Key: keyOf(1), Delta: 1, TTL: 60, Err: errUnanswered}
		err := w.perform(&op)
		text, rest, ended := strings.Cut(string(said), "\r\n")
		switch {
		case err != nil:
			if op.Total != 0 || !errors.Is(op.Err, errUnanswered) || !op.Sent {
				t.Errorf("%q: %v, but the op was answered: %+v", said, err, op)
			}
		case op.Err == nil && (!ended || rest != "" ||
			strings.TrimLeft(text, "0") != fmt.Sprint(op.Total)):
			t.Errorf("%q is read as %d", said, op.Total)
		case errors.Is(op.Err, ErrValue) && string(said) != nonNumeric+"\r\n":
			t.Errorf("%q: %v", said, op.Err)
		}
	})
}

// TestPanicsStayInside takes the guard away that keeps such answers from gomemcache.
func TestPanicsStayInside(t *testing.T) {
	for _, said := range []string{"\n", "CLIENT_ERROR \n"} {
		w := scriptedWorker(t, nil)
		w.client.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return scripted{strings.NewReader(said)}, nil
		}
		op := Op{Key: keyOf(1), Delta: 1, TTL: 60}
		if err := w.perform(&op); !errors.Is(err, ErrReply) ||
			!strings.Contains(err.Error(), "panic") {
			t.Errorf("%q: %v", said, err)
		}
		w.close()
	}
}

// TestVanishing has a counter that is missing for incr and present for add, for ever.
func TestVanishing(t *testing.T) {
	// 1 is what to add
	answers := map[string]string{"incr": "NOT_FOUND\r\n", "add": "", "1": "NOT_STORED\r\n"}
	f := &fake{classic: true, lie: func(command string) (string, bool) {
		verb, _, _ := strings.Cut(command, " ")
		return answers[verb], false
	}}
	r := openRing(t, Config{Servers: make([]Server, 1), Timeout: unhurried, Dial: f.pipe})
	ops := adds(1, 1, 1)
	r.Do(t.Context(), ops)
	if !errors.Is(ops[0].Err, ErrVanishing) || ops[0].Sent || !r.Up(0) {
		t.Errorf("%v, sent %v", ops[0].Err, ops[0].Sent)
	}
}

// TestComplaintsKeepConnections has many counters that are no numbers: they cost no connections, of
// which there are only so many.
func TestComplaintsKeepConnections(t *testing.T) {
	for protocol, dial := range dials {
		t.Run(protocol, func(t *testing.T) {
			var dialled atomic.Int32
			counting := func(ctx context.Context, network, address string) (net.Conn, error) {
				dialled.Add(1)
				return dial(ctx, network, address)
			}
			m := startMemcached(t)
			r := openRing(t, Config{
				Servers: []Server{m.Server},
				Timeout: unhurried, Dial: counting,
			})
			ops := adds(200, 1, 1)
			for i := range ops {
				m.raw(fmt.Sprintf("set %s 0 0 1\r\nx", textKey(i)))
			}
			ops = append(ops, Op{Key: keyOf(1000), Delta: 1, TTL: 60})
			r.Do(t.Context(), ops)
			for i, op := range ops[:200] {
				if !errors.Is(op.Err, ErrValue) {
					t.Fatalf("op %d: %v", i, op.Err)
				}
			}
			wantTotals(t, ops[200:], 1)
			if n := dialled.Load(); n > 1+classicWorkers {
				t.Errorf("dialled %d times", n)
			}
		})
	}
}

// TestGoroutinesAreBounded counts them under work, with the protocol that takes more.
func TestGoroutinesAreBounded(t *testing.T) {
	const servers = 3
	before, most := runtime.NumGoroutine(), 0
	f := &fake{classic: true}
	count := func(net.Conn, int, string) {
		f.mu.Lock()
		most = max(most, runtime.NumGoroutine())
		f.mu.Unlock()
	}
	f.wait = count
	r := openRing(t, Config{Servers: make([]Server, servers), Timeout: unhurried, Dial: f.pipe})
	for range 3 {
		ops := adds(300, servers, 1)
		r.Do(t.Context(), ops)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fakes := 2 * servers * (1 + classicWorkers) // two for each connection
	if ours := most - before - fakes; ours > servers*goroutinesPerServer {
		t.Errorf("%d goroutines for %d servers", ours, servers)
	}
}

// TestGuardRefusesEarlyAnswers has something come before the question: it is not asked then.
func TestGuardRefusesEarlyAnswers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	g := newGuarded(conn, scriptedWorker(t, nil))
	defer func() { _ = g.Close() }()
	there, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	if _, err := g.Write([]byte("incr\r\n")); err != nil {
		t.Errorf("a quiet connection: %v", err)
	}
	fmt.Fprint(there, "777\r\n")
	// it takes a moment to arrive
	for deadline := time.Now().Add(patience); err == nil; runtime.Gosched() {
		if _, err = g.Write([]byte("\r\n")); time.Now().After(deadline) {
			t.Fatal("it asked all the same")
		}
	}
	if !errors.Is(err, ErrReply) {
		t.Error(err)
	}
}

// TestGuardSeesTheEndOfTheRound sets a deadline after the round's context ended.
func TestGuardSeesTheEndOfTheRound(t *testing.T) {
	here, there := net.Pipe()
	defer func() { _ = there.Close() }()
	w := scriptedWorker(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.round.ctx = ctx
	g := newGuarded(here, w)
	defer func() { _ = g.Close() }()
	_ = g.SetDeadline(time.Now().Add(patience))
	started := time.Now()
	if _, err := g.Read(make([]byte, maxLine)); !errors.Is(err, os.ErrDeadlineExceeded) ||
		time.Since(started) >= patience {
		t.Errorf("%v after %v", err, time.Since(started))
	}
}

// TestErrorsOutweighLateness has workers of a share fail for several reasons.
func TestErrorsOutweighLateness(t *testing.T) {
	j := &share{}
	for _, err := range []error{ErrLate, io.EOF, ErrLate, ErrReply} {
		j.fail(err)
	}
	if !errors.Is(j.err, io.EOF) {
		t.Error(j.err)
	}
}
