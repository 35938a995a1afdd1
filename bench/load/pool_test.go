package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
)

func TestKeysAreDifferentAddresses(t *testing.T) {
	seen := map[string]bool{}
	for n := range uint64(100_000) {
		key := string(appendKey(nil, n))
		if _, err := netip.ParseAddr(key); err != nil {
			t.Fatalf("key %d: %v", n, err)
		}
		if seen[key] {
			t.Fatalf("key %d is %s, which an earlier one was", n, key)
		}
		seen[key] = true
	}
}

func TestStreamsKeepToTheirLaw(t *testing.T) {
	for _, c := range []struct {
		dist             string
		atLeast, atMost  int // different keys in 10,000 draws from 1,000
		firstMin, firstX int // share of key 0
	}{
		{"one", 1, 1, 10_000, 10_000},
		{"uniform", 990, 1000, 1, 40},
		{"zipf", 500, 999, 1000, 2000},
	} {
		s, seen := newStream(options{dist: c.dist, keys: 1000, skew: 1.01, seed: 7}),
			map[uint64]int{}
		for range 10_000 {
			seen[s.draw()]++
		}
		if len(seen) < c.atLeast || len(seen) > c.atMost {
			t.Errorf("%s: %d different keys, want %d..%d", c.dist, len(seen), c.atLeast, c.atMost)
		}
		if seen[0] < c.firstMin || seen[0] > c.firstX {
			t.Errorf("%s: key 0 came %d times, want %d..%d", c.dist, seen[0], c.firstMin, c.firstX)
		}
	}
}

func TestSameSeedSameDatagrams(t *testing.T) {
	o := options{
		op: "check", rule: "r", checks: 3, keys: 100, dist: "zipf", skew: 1.5, seed: 3,
		requests: 50, pool: minPool,
	}
	one, two := newDatagrams(o), newDatagrams(o)
	if !bytes.Equal(one.data, two.data) {
		t.Error("two pools of one seed differ")
	}
	if o.seed = 4; bytes.Equal(one.data, newDatagrams(o).data) {
		t.Error("two seeds draw the same")
	}
}

func TestDatagramHasItsLinesAndID(t *testing.T) {
	p := newDatagrams(options{
		op: "check", rule: "login", checks: 2, keys: 1, dist: "one",
		ids: true, requests: 1, pool: minPool,
	})
	if got, want := string(p.take(0xbeef)),
		"check login 0.0.0.0 id=0000beef\ncheck login 0.0.0.0"; got != want {
		t.Errorf("datagram %q, want %q", got, want)
	}
}

func TestDatagramOfAnyLines(t *testing.T) {
	o := options{
		line: "ask path=/{rule} client={key} tier=a", rule: "x", checks: 2, keys: 1,
		dist: "one", requests: 1, pool: minPool,
	}
	if got, want := string(newDatagrams(o).take(1)),
		"ask path=/x client=0.0.0.0 tier=a\nask path=/x client=0.0.0.0 tier=a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	o.line, o.checks = "ping", 1
	if got := string(newDatagrams(o).take(1)); got != "ping" {
		t.Errorf("got %q", got)
	}
	if err := (&options{line: "a\nb"}).validate(nil); err == nil ||
		!strings.Contains(err.Error(), "--line") {
		t.Errorf("two lines: %v", err)
	}
}

func TestPoolGoesRoundAndBack(t *testing.T) {
	p := &pool{data: []byte("abc"), ends: []int{1, 2, 3}}
	var got strings.Builder
	for range 5 {
		got.Write(p.take(0))
	}
	p.untake(2)
	got.Write(p.take(0))
	if got.String() != "abcaba" {
		t.Errorf("took %q, want abcaba", got.String())
	}
}

func TestBallastIsAsLongAsAsked(t *testing.T) {
	for _, n := range []int{100, 1024, 60_000} {
		if got := len(ballast(n)); got < n || got > n+32 {
			t.Errorf("ballast(%d) is %d bytes", n, got)
		}
	}
}

func TestReplyID(t *testing.T) {
	for reply, want := range map[string]uint64{
		"id=0000beef allow remaining=1":       0xbeef,
		"check login 1.2.3.4 id=00000001\nxx": 1,
	} {
		if got, ok := replyID([]byte(reply)); !ok || got != want {
			t.Errorf("replyID(%q) = %x, %v", reply, got, ok)
		}
	}
	for _, reply := range []string{"", "allow", "id=", "id=zzzzzzzz allow", "id=123"} {
		if _, ok := replyID([]byte(reply)); ok {
			t.Errorf("replyID(%q) found one", reply)
		}
	}
}
