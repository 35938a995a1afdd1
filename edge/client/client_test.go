package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// slow is a timeout for clients whose calls must end before it.
var slow = WithTimeout(patience)

func TestClientAsks(t *testing.T) {
	for network, address := range map[string]string{"udp": "", "unixgram": socketPath(t)} {
		t.Run(network, func(t *testing.T) {
			seen := make(chan string, 10)
			d := serve(t, network, address, func(datagram string, reply func(string)) {
				line, _, _ := strings.Cut(datagram, " id=")
				seen <- line
				honest(datagram, reply)
			})
			c := dialTo(t, network, d.address(), slow)
			a, err := c.Check(t.Context(), "r", "a b", 7)
			want(t, a, err, wire.Allow, nil)
			if !a.Allowed() || a.Remaining != 7 || a.Reset != time.Second {
				t.Errorf("got %+v", a)
			}
			a, err = c.Peek(t.Context(), "r", "no", 1)
			want(t, a, err, wire.Deny, nil)
			if a.Allowed() || a.Why != wire.WhyLimit || a.Retry != 3*time.Second {
				t.Errorf("got %+v", a)
			}
			if err := c.Count(t.Context(), "r", "k", 1); err != nil {
				t.Error(err)
			}
			for _, line := range []string{"check r a%20b cost=7", "peek r no", "count r k"} {
				if got := <-seen; got != line {
					t.Errorf("the daemon was asked %q, want %q", got, line)
				}
			}
		})
	}
}

func TestDialRejectsWrongArguments(t *testing.T) {
	for _, tt := range []struct {
		address string
		option  Option
		want    string
	}{
		{"127.0.0.1", slow, "headgate: dial 127.0.0.1: "},
		{"127.0.0.1", slow, "missing port"},
		{"127.0.0.1:99999", slow, "invalid port"},
		{"127.0.0.1:1", WithTimeout(0), "timeout 0s is not above 0"},
	} {
		if _, err := Dial(tt.address, tt.option); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("Dial(%s): %v, want %q", tt.address, err, tt.want)
		}
	}
	if n := readers(); n != 0 {
		t.Errorf("%d goroutines are left of clients that were not made", n)
	}
}

func TestSilentDaemon(t *testing.T) {
	d := serve(t, "udp", "", func(string, func(string)) {})
	for mode, verdict := range map[FailMode]wire.Status{
		FailOpen: wire.Allow, FailClosed: wire.Deny,
		9: wire.Deny,
	} {
		c := dialTo(t, "udp", d.address(), WithTimeout(5*time.Millisecond), WithFailMode(mode))
		start := time.Now()
		a, err := c.Check(t.Context(), "r", "k", 1)
		want(t, a, err, verdict, ErrTimeout)
		if took := time.Since(start); took < 5*time.Millisecond || took > patience/2 {
			t.Errorf("a timeout of 5 ms took %v", took)
		}
		if verdict == wire.Deny && a.Retry < time.Second {
			t.Error("a deny without Retry")
		}
		if err := c.Count(t.Context(), "r", "k", 1); !errors.Is(err, ErrTimeout) {
			t.Errorf("Count: %v", err)
		}
	}
}

func TestContextEndsACall(t *testing.T) {
	received := make(chan string, 10)
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		received <- datagram
		if strings.Contains(datagram, "answer-me") {
			honest(datagram, reply)
		}
	})
	c := dialTo(t, "udp", d.address(), slow)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-received; cancel() }()
	a, err := c.Check(ctx, "r", "k", 1)
	want(t, a, err, wire.Allow, context.Canceled)

	a, err = c.Check(ctx, "r", "never-sent", 1)
	want(t, a, err, wire.Allow, context.Canceled)
	a, err = c.Check(t.Context(), "r", "answer-me", 1)
	want(t, a, err, wire.Allow, nil)
	if next := <-received; !strings.Contains(next, "answer-me") {
		t.Errorf("a call whose context had ended before was sent: %q", next)
	}

	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	a, err = c.Check(ctx, "r", "k", 1)
	want(t, a, err, wire.Allow, context.DeadlineExceeded)
}

func TestNoDaemonFailsAtOnce(t *testing.T) {
	d := serve(t, "udp", "", honest)
	d.stop()
	c := dialTo(t, "udp", d.address(), slow, WithFailMode(FailClosed))
	for range 3 {
		a, err := c.Check(patient(t), "r", "k", 1)
		want(t, a, err, wire.Deny, ErrNoDaemon)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the system's error is lost: %v", err)
		}
	}
}

func TestStrayRepliesAnswerNoQuery(t *testing.T) {
	var first string
	ctx, cancel := context.WithCancel(t.Context())
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		if first == "" { // its caller gives up; the answer comes with the second's
			first = datagram
			cancel()
			return
		}
		reply("allow remaining=1 reset=1 view=node")             // no id
		reply("id=moon allow")                                   // an id that is not pending
		reply("id=" + strings.Repeat("/", 40) + "\x00 \n\n\xff") // garbage: three lines
		reply(answerAll(first))                                  // late
		reply(answerAll(first) + "\n" + answerAll(datagram))     // late and doubled, then right
		reply(answerAll(datagram))                               // doubled
	})
	c := dialTo(t, "udp", d.address(), slow)
	a, err := c.Check(ctx, "r", "no", 1)
	want(t, a, err, wire.Allow, context.Canceled)
	a, err = c.Check(t.Context(), "r", "k", 5)
	want(t, a, err, wire.Allow, nil)
	if a.Remaining != 5 {
		t.Errorf("got another question's answer: %+v", a)
	}
	// A third one, so that the doubled reply to the second has been read for sure.
	if _, err = c.Check(t.Context(), "r", "k", 5); err != nil {
		t.Fatal(err)
	}
	if got := c.Stats().Strays; got < 8 {
		t.Errorf("%d strays were counted, want at least 8", got)
	}
}

// A line without an id, or with one that is not the client's, answers no query, not even the one
// whose id is all zeros.
func TestForeignIDsAnswerNoQuery(t *testing.T) {
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		reply("deny why=limit\nid=~~~~~~ deny\nid=0 deny\nid=0000000 deny\n" + answerAll(datagram))
	})
	c := dialTo(t, "udp", d.address(), slow)
	c.packet.datagram = newDatagram(0)
	a, err := c.Check(t.Context(), "r", "k", 1)
	want(t, a, err, wire.Allow, nil)
	if got := c.Stats().Strays; got != 4 {
		t.Errorf("%d strays were counted, want 4", got)
	}
}

func TestRepliesThatAreNoVerdict(t *testing.T) {
	answers := make(chan string, 1)
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		_, id, _ := strings.Cut(datagram, " id=")
		id, _, _ = strings.Cut(id, " ")
		reply("id=" + id + " " + <-answers)
	})
	c := dialTo(t, "udp", d.address(), slow, WithFailMode(FailClosed))
	for _, tt := range []struct {
		answer string
		want   error
	}{
		{"ok", wire.ErrReply},
		{"pong", wire.ErrReply},
		{"perhaps", wire.ErrReply},
		{"allow remaining=x", wire.ErrReply},
		{"error moon", wire.ErrReply},
		{"error unknown-rule", wire.UnknownRule},
		{"error bad-request", wire.BadRequest},
	} {
		answers <- tt.answer
		a, err := c.Check(t.Context(), "r", "k", 1)
		want(t, a, err, wire.Deny, tt.want)
	}
	answers <- "deny" // cut as short as may be
	if a, err := c.Check(t.Context(), "r", "k", 1); err != nil || a.Status != wire.Deny ||
		a.Retry != time.Second {
		t.Errorf("a deny without fields: %+v, %v", a, err)
	}
	answers <- "allow"
	if err := c.Count(t.Context(), "r", "k", 1); !errors.Is(err, wire.ErrReply) {
		t.Errorf("a verdict was taken for ok: %v", err)
	}
}

// At most MaxPending queries wait for an answer; there is room again when they end.
func TestBusyClientFailsAtOnce(t *testing.T) {
	received := make(chan int, MaxPending)
	d := serve(t, "unixgram", socketPath(t), func(datagram string, reply func(string)) {
		if strings.Contains(datagram, "silence") {
			received <- 1 + strings.Count(datagram, "\n")
			return
		}
		honest(datagram, reply)
	})
	c := dialTo(t, "unixgram", d.address(), slow)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asks sync.WaitGroup
	const atOnce = maxLines * packetsInFlight // an Ask sends no more before it waits
	for left := MaxPending; left > 0; left -= atOnce {
		queries := make([]Query, min(left, atOnce))
		for i := range queries {
			queries[i] = Query{Rule: "r", Key: "silence"}
		}
		asks.Go(func() {
			if _, err := c.Batch(ctx, queries); !errors.Is(err, context.Canceled) {
				t.Errorf("a query that waits: %v", err)
			}
		})
	}
	for left := MaxPending; left > 0; {
		left -= <-received
	}
	a, err := c.Check(t.Context(), "r", "no", 1)
	want(t, a, err, wire.Allow, ErrBusy)
	cancel()
	asks.Wait()
	a, err = c.Check(t.Context(), "r", "no", 1)
	want(t, a, err, wire.Deny, nil)
}

func TestErrorsSayWhatHappened(t *testing.T) {
	d := serve(t, "udp", "", honest)
	c := dialTo(t, "udp", d.address(), slow)
	_, err := c.Check(t.Context(), "moon", "k", 1)
	want := fmt.Sprintf("headgate: no verdict from %s on 1 of 1 queries: unknown-rule", d.address())
	if err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
