package ring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
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

// scriptedWorker returns a worker that will hear what is said.
func scriptedWorker(t testing.TB, said []byte) *worker {
	dial := func(context.Context, string, string) (net.Conn, error) {
		return scripted{bytes.NewReader(said)}, nil
	}
	w := newWorker(newServer(Server{}, Config{Timeout: unhurried, Dial: dial}))
	w.round = &round{ctx: t.Context(), timeout: unhurried, until: time.Now().Add(unhurried)}
	return w
}

// FuzzClassicReply feeds answers to gomemcache as the ring uses it: no panic gets out, and a total is what the server said, to
// the letter.
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
		case op.Err == nil && (!ended || rest != "" || strings.TrimLeft(text, "0") != fmt.Sprint(op.Total)):
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
		if err := w.perform(&op); !errors.Is(err, ErrReply) || !strings.Contains(err.Error(), "panic") {
			t.Errorf("%q: %v", said, err)
		}
		w.close()
	}
}

// TestVanishing has a counter that is missing for incr and present for add, for ever.
func TestVanishing(t *testing.T) {
	answers := map[string]string{"incr": "NOT_FOUND\r\n", "add": "", "1": "NOT_STORED\r\n"} // 1 is what to add
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
