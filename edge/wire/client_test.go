package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
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
			want(t, a, err, Allow, nil)
			if !a.Allowed() || a.Remaining != 7 || a.Reset != 1 {
				t.Errorf("got %+v", a)
			}
			a, err = c.Peek(t.Context(), "r", "no", 0)
			want(t, a, err, Deny, nil)
			if a.Allowed() || a.Why != WhyLimit || a.Retry != 3 {
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

func TestDialRefusesWhatCanNeverWork(t *testing.T) {
	for _, tt := range []struct {
		network, address string
		option           Option
		want             string
	}{
		{"tcp", "127.0.0.1:1", slow, "wire: dial tcp 127.0.0.1:1: unknown network tcp"},
		{"udp", "127.0.0.1", slow, "missing port"},
		{"udp", "127.0.0.1:99999", slow, "invalid port"},
		{"udp", "127.0.0.1:1", WithTimeout(0), "timeout 0s is not above 0"},
	} {
		if _, err := Dial(tt.network, tt.address, tt.option); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Dial(%s, %s): %v, want %q", tt.network, tt.address, err, tt.want)
		}
	}
	if n := readers(); n != 0 {
		t.Errorf("%d goroutines are left of clients that never were", n)
	}
}

func TestSilentDaemon(t *testing.T) {
	d := serve(t, "udp", "", func(string, func(string)) {})
	for mode, verdict := range map[FailMode]Status{FailOpen: Allow, FailClosed: Deny, 9: Deny} {
		c := dialTo(t, "udp", d.address(), WithTimeout(5*time.Millisecond), WithFailMode(mode))
		start := time.Now()
		a, err := c.Check(t.Context(), "r", "k", 1)
		want(t, a, err, verdict, ErrTimeout)
		if took := time.Since(start); took < 5*time.Millisecond || took > patience/2 {
			t.Errorf("a timeout of 5 ms took %v", took)
		}
		if verdict == Deny && a.Retry < 1 {
			t.Error("a deny without Retry")
		}
		if err := c.Count(t.Context(), "r", "k", 1); !errors.Is(err, ErrTimeout) {
			t.Errorf("Count: %v", err)
		}
	}
}

func TestContextEndsACall(t *testing.T) {
	heard := make(chan string, 10)
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		heard <- datagram
		if strings.Contains(datagram, "answer-me") {
			honest(datagram, reply)
		}
	})
	c := dialTo(t, "udp", d.address(), slow)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-heard; cancel() }()
	a, err := c.Check(ctx, "r", "k", 1)
	want(t, a, err, Allow, context.Canceled)

	a, err = c.Check(ctx, "r", "never-sent", 1)
	want(t, a, err, Allow, context.Canceled)
	a, err = c.Check(t.Context(), "r", "answer-me", 1)
	want(t, a, err, Allow, nil)
	if next := <-heard; !strings.Contains(next, "answer-me") {
		t.Errorf("a call whose context had ended before was sent: %q", next)
	}

	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	a, err = c.Check(ctx, "r", "k", 1)
	want(t, a, err, Allow, context.DeadlineExceeded)
}

func TestNoDaemonFailsAtOnce(t *testing.T) {
	d := serve(t, "udp", "", honest)
	d.stop()
	c := dialTo(t, "udp", d.address(), slow, WithFailMode(FailClosed))
	for range 3 {
		a, err := c.Check(patient(t), "r", "k", 1)
		want(t, a, err, Deny, ErrNoDaemon)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the system's error is lost: %v", err)
		}
	}
}

func TestAnswersAreToldApart(t *testing.T) {
	var first string
	ctx, cancel := context.WithCancel(t.Context())
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		if first == "" { // its caller gives up; the answer comes with the second's
			first = datagram
			cancel()
			return
		}
		reply("allow remaining=1 reset=1 view=node")             // no id
		reply("id=moon allow")                                   // an id of nobody
		reply("id=" + strings.Repeat("/", 40) + "\x00 \n\n\xff") // garbage: three lines
		reply(answerAll(first))                                  // late
		reply(answerAll(first) + "\n" + answerAll(datagram))     // late and doubled, then right
		reply(answerAll(datagram))                               // doubled
	})
	c := dialTo(t, "udp", d.address(), slow)
	a, err := c.Check(ctx, "r", "no", 1)
	want(t, a, err, Allow, context.Canceled)
	a, err = c.Check(t.Context(), "r", "k", 5)
	want(t, a, err, Allow, nil)
	if a.Remaining != 5 {
		t.Errorf("got another question's answer: %+v", a)
	}
	// A third one, so that the doubled reply to the second has been read for sure.
	if _, err = c.Check(t.Context(), "r", "k", 5); err != nil {
		t.Fatal(err)
	}
	if got := c.Strays(); got < 8 {
		t.Errorf("%d strays were counted, want at least 8", got)
	}
}

// Not even the question whose id is all zeros is answered by a line without an
// id, or with one that is not the client's.
func TestForeignIDsAnswerNobody(t *testing.T) {
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		reply("deny why=limit\nid=~~~~~~ deny\nid=0 deny\nid=0000000 deny\n" + answerAll(datagram))
	})
	c := dialTo(t, "udp", d.address(), slow)
	c.packet.first = 0
	a, err := c.Check(t.Context(), "r", "k", 1)
	want(t, a, err, Allow, nil)
	if got := c.Strays(); got != 4 {
		t.Errorf("%d strays were counted, want 4", got)
	}
}

func TestRepliesThatAreNoVerdict(t *testing.T) {
	answers := make(chan string, 1)
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		_, id, _ := strings.Cut(datagram, " id=")
		reply("id=" + id + " " + <-answers)
	})
	c := dialTo(t, "udp", d.address(), slow, WithFailMode(FailClosed))
	for _, tt := range []struct {
		answer string
		want   error
	}{
		{"ok", ErrReply},
		{"pong", ErrReply},
		{"perhaps", ErrReply},
		{"allow remaining=x", ErrReply},
		{"error moon", ErrReply},
		{"error unknown-rule", UnknownRule},
		{"error bad-request", BadRequest},
	} {
		answers <- tt.answer
		a, err := c.Check(t.Context(), "r", "k", 1)
		want(t, a, err, Deny, tt.want)
	}
	answers <- "allow"
	if err := c.Count(t.Context(), "r", "k", 1); !errors.Is(err, ErrReply) {
		t.Errorf("a verdict was taken for ok: %v", err)
	}
}

func TestBusyClientRefusesAtOnce(t *testing.T) {
	d := serve(t, "udp", "", honest)
	c := dialTo(t, "udp", d.address(), slow)
	k := newCall(make([]Query, 1))
	for i := range uint64(MaxPending) {
		c.open[i] = question{call: k}
	}
	a, err := c.Check(t.Context(), "r", "no", 1)
	want(t, a, err, Allow, ErrBusy)
	delete(c.open, 0)
	a, err = c.Check(t.Context(), "r", "no", 1)
	want(t, a, err, Deny, nil)
	clear(c.open)
}

func TestErrorsSayWhatHappened(t *testing.T) {
	d := serve(t, "udp", "", honest)
	c := dialTo(t, "udp", d.address(), slow)
	_, err := c.Check(t.Context(), "moon", "k", 1)
	want := fmt.Sprintf("wire: 1 of 1 questions to %s got no verdict: unknown-rule", d.address())
	if err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
