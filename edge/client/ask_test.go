package client

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// numbered returns n checks at the costs 1 to n.
func numbered(n int) []Query {
	queries := make([]Query, n)
	for i := range queries {
		key := fmt.Sprintf("203.0.113.%d", i%256)
		queries[i] = Query{Cost: uint32(i + 1), Rule: "r", Key: key}
	}
	return queries
}

// checkOwn fails unless each answer is that to the query at its place.
func checkOwn(t *testing.T, queries []Query, answers []Answer, err error) {
	t.Helper()
	if err != nil || len(answers) != len(queries) {
		t.Fatalf("%d answers to %d queries, %v", len(answers), len(queries), err)
	}
	for i, a := range answers {
		if a.Err != nil || a.Remaining != int64(queries[i].Cost) {
			t.Fatalf("answer %d is %+v, want that at cost %d", i, a, queries[i].Cost)
		}
	}
}

func TestAskPacksManyQuestionsIntoFewDatagrams(t *testing.T) {
	for _, tt := range []struct{ queries, datagrams int }{
		{0, 0},
		{1, 1},
		{30, 1},
		{31, 2},
		{1000, 33},
	} {
		sizes := make(chan int, 100)
		d := serve(t, "udp", "", func(datagram string, reply func(string)) {
			if lines := 1 + strings.Count(datagram, "\n"); lines > maxLines ||
				len(datagram) > packetSize {
				t.Errorf("a datagram of %d lines, %d bytes", lines, len(datagram))
			}
			sizes <- len(datagram)
			honest(datagram, reply)
		})
		c := dialTo(t, "udp", d.address(), slow)
		queries := numbered(tt.queries)
		answers, err := c.Batch(t.Context(), queries)
		checkOwn(t, queries, answers, err)
		if got := len(sizes); got > tt.datagrams {
			t.Errorf("%d queries went in %d datagrams, want %d at most",
				tt.queries, got, tt.datagrams)
		}
	}
}

// Replies come in any order, in any portions, and each twice.
func TestAskTakesRepliesInAnyOrder(t *testing.T) {
	var waiting []string
	dice := edgetest.Dice(t)
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		waiting = append(waiting, strings.Split(answerAll(datagram), "\n")...)
		if len(waiting) < 120 {
			return
		}
		dice.Shuffle(len(waiting), func(i, j int) {
			waiting[i], waiting[j] = waiting[j], waiting[i]
		})
		for _, line := range waiting {
			reply(line + "\n" + line)
		}
		waiting = nil
	})
	c := dialTo(t, "udp", d.address(), slow)
	queries := numbered(120)
	answers, err := c.Batch(t.Context(), queries)
	checkOwn(t, queries, answers, err)
}

// A query that is against the protocol spoils only its own answer: otherwise one of them would let
// a whole batch pass.
func TestAskSparesTheGoodQuestions(t *testing.T) {
	d := serve(t, "udp", "", honest)
	c := dialTo(t, "udp", d.address(), slow)
	queries := []Query{
		{Rule: "r", Key: "no"},
		{Rule: strings.Repeat("r", wire.MaxRule+1), Key: "no"},
		{Rule: "r no\ncheck r", Key: "no"},
		{Op: wire.Ping, Rule: "r", Key: "no"},
		{Rule: "moon", Key: "no"},
		{Op: wire.Count, Rule: "r", Key: "no"},
		{Op: wire.Peek, Rule: "r", Key: "no"},
	}
	answers, err := c.Batch(t.Context(), queries)
	want := []Answer{
		{Status: wire.Deny},
		{Err: wire.BadRequest},
		{Err: wire.BadRequest},
		{Err: wire.BadRequest},
		{Err: wire.UnknownRule},
		{Status: wire.OK},
		{Status: wire.Deny},
	}
	for i, a := range answers {
		if a.Status != want[i].Status || !errors.Is(a.Err, want[i].Err) {
			t.Errorf("answer %d: %+v, want %+v", i, a, want[i])
		}
	}
	if !errors.Is(err, wire.BadRequest) || !errors.Is(err, wire.UnknownRule) ||
		errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
	if err != nil && !strings.Contains(err.Error(), "4 of 7 queries") {
		t.Errorf("got %v", err)
	}
}

// Questions that were answered before the time was up keep their answers.
func TestAskKeepsWhatCameInTime(t *testing.T) {
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		first, _, _ := strings.Cut(datagram, "\n")
		honest(first, reply)
	})
	c := dialTo(t, "udp", d.address(), WithTimeout(200*time.Millisecond), WithFailMode(FailClosed))
	queries := numbered(10)
	answers, err := c.Batch(t.Context(), queries)
	if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "9 of 10 queries") {
		t.Fatalf("got %v", err)
	}
	checkOwn(t, queries[:1], answers[:1], nil)
	for i, a := range answers[1:] {
		if !errors.Is(a.Err, ErrTimeout) || a.Status != wire.Deny {
			t.Errorf("answer %d was never given, yet it is %+v", i+1, a)
		}
	}
}

// A daemon that listens beyond its host cuts replies to the length of their queries. The client
// fills its queries up, from the first to an address beyond this host, and else from the first
// reply that was cut.
func TestQueriesLeaveRoomForReplies(t *testing.T) {
	longest := wire.Answer{Remaining: 1e9, Reset: 86400, View: wire.ViewGlobal, Shadow: true}
	d := serve(t, "udp", "", func(datagram string, reply func(string)) {
		var lines []string
		for line := range strings.SplitSeq(datagram, "\n") {
			var q wire.Query
			_ = wire.ParseQuery(&q, []byte(line))
			longest.ID = q.ID
			short, _ := wire.AppendAnswerMax(nil, &longest, len(line))
			lines = append(lines, string(short))
		}
		reply(strings.Join(lines, "\n"))
	})
	c := dialTo(t, "udp", d.address(), slow)
	for n, want := range []int64{0, 1e9, 1e9} {
		a, err := c.Check(t.Context(), "r", "k", 1)
		if err != nil || a.Remaining != want || n > 0 && a.View != wire.ViewGlobal {
			t.Errorf("query %d: %+v, %v, want %d remaining", n+1, a, err, want)
		}
	}
	answers, err := c.Batch(t.Context(), numbered(100))
	for i, a := range answers {
		if err != nil || a.Remaining != 1e9 || !a.Shadow {
			t.Fatalf("answer %d: %+v, %v", i, a, err)
		}
	}
	for text, want := range map[string]bool{
		"127.0.0.1": false, "::1": false, "192.0.2.1": true,
		"2001:db8::1": true,
	} {
		if got := remote(&net.UDPAddr{IP: net.ParseIP(text), Port: 4290}); got != want {
			t.Errorf("%s is beyond this host: %v", text, got)
		}
	}
	if remote(&net.UnixAddr{Name: "/run/headgate/udp.sock"}) {
		t.Error("a unix socket is beyond this host")
	}
}
