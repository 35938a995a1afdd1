package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// patience is a deadline that only a broken test meets.
const patience = 20 * time.Second

// daemon is what a test plays against a client: a socket on which each datagram
// is handed to a script.
type daemon struct {
	conn net.PacketConn
	done chan struct{}
}

// script gets a datagram and may send any number of replies to whoever sent it.
type script func(datagram string, reply func(string))

// serve starts a daemon; address "" is a free port of the loopback.
func serve(t *testing.T, network, address string, s script) *daemon {
	t.Helper()
	conn, err := listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{conn, make(chan struct{})}
	go func() {
		defer close(d.done)
		d.run(s)
	}()
	t.Cleanup(d.stop)
	return d
}

// listen takes a free port below those the system gives to clients, for else a
// client may take the port of a daemon that is just restarting. No other package's tests use
// these ports.
func listen(network, address string) (conn net.PacketConn, err error) {
	if network == "unixgram" { // what a killed daemon leaves behind
		_ = os.Remove(address)
	}
	if address != "" {
		return net.ListenPacket(network, address)
	}
	for range 100 {
		conn, err = net.ListenPacket(network, fmt.Sprintf("127.0.0.1:%d", 14000+rand.IntN(4000)))
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (d *daemon) run(s script) {
	buf := make([]byte, wire.MaxDatagram)
	for {
		n, from, err := d.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		s(string(buf[:n]), func(reply string) { _, _ = d.conn.WriteTo([]byte(reply), from) })
	}
}

// stop ends the daemon and returns when its socket is closed.
func (d *daemon) stop() {
	_ = d.conn.Close()
	<-d.done
}

func (d *daemon) address() string { return d.conn.LocalAddr().String() }

// honest answers as a daemon does that has one rule, "r". A key that is "no"
// is denied; what remains is always the cost, by which a test recognises its
// answer.
func honest(datagram string, reply func(string)) { reply(answerAll(datagram)) }

func answerAll(datagram string) string {
	var out [][]byte
	for line := range bytes.SplitSeq([]byte(datagram), []byte("\n")) {
		out = append(out, wire.AppendAnswer(nil, answerOne(line)))
	}
	return string(bytes.Join(out, []byte("\n")))
}

func answerOne(line []byte) *wire.Answer {
	var q wire.Query
	code := wire.ParseQuery(&q, line)
	if code == wire.NoError && string(q.Rule) != "r" {
		code = wire.UnknownRule
	}
	a := &wire.Answer{ID: q.ID, Remaining: int64(q.Cost), Reset: 1}
	switch {
	case code != wire.NoError:
		a.Status, a.Code = wire.Error, code
	case q.Op == wire.Count:
		a.Status = wire.OK
	case string(q.Key) == "no":
		a.Status, a.Why, a.Retry = wire.Deny, wire.WhyLimit, 3
	}
	return a
}

// dialTo returns a client that is closed at the end of the test, when no
// query may be pending.
func dialTo(t *testing.T, network, address string, options ...Option) *Client {
	t.Helper()
	if network == "unixgram" {
		address = "unix:" + address
	}
	c, err := Dial(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.mu.Lock()
		left := len(c.pending)
		c.mu.Unlock()
		if left != 0 {
			t.Errorf("%d queries are still pending", left)
		}
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// TestMain fails if any client's goroutine outlives the tests. Close waits for
// it, so there is nothing to be patient about.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := readers(); left != 0 && code == 0 {
		fmt.Println("FAIL: reading goroutines are left:", left)
		code = 1
	}
	os.Exit(code)
}

// readers returns how many clients' goroutines are alive.
func readers() int {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "client.(*Client).read(")
}

// patient is for calls that must end by themselves.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// want fails unless the answer is the given verdict and err and the answer's Err are of the
// given kind.
func want(t *testing.T, a Answer, err error, status wire.Status, kind error) {
	t.Helper()
	if a.Status != status || !errors.Is(err, kind) || (err == nil) != (kind == nil) ||
		!errors.Is(a.Err, kind) {
		t.Fatalf("got %v (%v), %v; want %v, %v", a.Status, a.Err, err, status, kind)
	}
}

func socketPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "hg.sock")
}
