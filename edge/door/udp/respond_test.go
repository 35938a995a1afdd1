package udp

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// doorOf returns a door to g without sockets.
func doorOf(g *gate.Gate, public bool) *Door {
	return &Door{gate: g, room: ask.New(g, 1<<20), public: public, stats: new([gate.Lanes]readerStats)}
}

// respond answers packet as reader 0 of u does.
func respond(u *Door, packet, reply []byte) []byte {
	decisions := u.gate.Lane(0).Batch(u.gate.Now(), rand.Uint64)
	defer decisions.End()
	k := u.newAsker()
	k.now = u.gate.Now()
	return u.respond(&u.stats[0], &decisions, &k, packet, reply)
}

// TestOffLoopbackNeverAmplifies: there the answer is never longer than the question, whatever it is.
func TestOffLoopbackNeverAmplifies(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := doorOf(g, true)
	for _, s := range []struct{ request, want string }{
		{"check shed 203.0.113.7\n", "allow remaining=2\n"},
		{"check shed 203.0.113.7 pad=123456\n", "allow remaining=1 reset=10\n"},
		{"check shed k\n", "allow\n"},
		{"ping\n", "pong\n"},
		{"ping", "pong"}, // no line feed to pay for one
		{"ping\nping", "pong\npong"},
		{"x", ""},
		{"", ""},
		{"x\nping\n", ""},
		{strings.Repeat("y", 9000), "error too-long\n"},
	} {
		got := string(respond(u, []byte(s.request), nil))
		if got != s.want {
			t.Errorf("%.40q: %q, want %q", s.request, got, s.want)
		}
	}
	if u.Stats().Unanswered == 0 {
		t.Error("what was not sent is not counted")
	}
}

func FuzzRespond(f *testing.F) {
	for _, seed := range []string{"ping", "check shed k\npeek shed k id=1\n", "\n\n\n", "check shed %00 cost=9", strings.Repeat("check shed k\n", 65)} {
		f.Add([]byte(seed))
	}
	g := gatetest.New(f, 1<<20, gatetest.Shed)
	f.Fuzz(func(t *testing.T, packet []byte) {
		public, private := doorOf(g, true), doorOf(g, false)
		if reply := respond(public, bytes.Clone(packet), nil); len(reply) > len(packet) {
			t.Fatalf("%d bytes of answer to %d", len(reply), len(packet))
		}
		reply := respond(private, bytes.Clone(packet), nil)
		lines := countLines(packet)
		if len(packet) > wire.MaxDatagram || lines > wire.MaxLines {
			lines = 1
		}
		if got := bytes.Count(reply, []byte{'\n'}); got != lines || len(reply) > replyBytes {
			t.Fatalf("%d answers in %d bytes to %d lines", got, len(reply), lines)
		}
	})
}

// TestNodesDoNotAnswerEachOther: an answer sent as a question must not go back and forth for ever.
func TestNodesDoNotAnswerEachOther(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := doorOf(g, true)
	for _, start := range []string{"error bad-request\n", "allow remaining=2 reset=10 view=node\n", "pong\n", "error too-long", strings.Repeat("x", 300)} {
		packet := []byte(start)
		for hops := 0; len(packet) > 0; hops++ {
			if hops == 4 {
				t.Errorf("%.30q is still being answered: %q", start, packet)
				break
			}
			packet = respond(u, bytes.Clone(packet), nil)
		}
	}
}

// TestUnanswerableLinesDoNotHideOthers: a line that cannot be answered off loopback counts all the same.
func TestUnanswerableLinesDoNotHideOthers(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	u := doorOf(g, true)
	for range 3 {
		if got := respond(u, []byte("\ncount shed k\n"), nil); len(got) != 0 {
			t.Errorf("%q", got)
		}
	}
	if got := gatetest.Decide(g, g.Now(), gate.Check, "shed", "k", 1); !got.Deny {
		t.Errorf("three were counted: %+v", got)
	}
}

// TestStatsKeepToTheirLines: two readers do not write to one cache line.
func TestStatsKeepToTheirLines(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(readerStats{}); size%128 != 0 {
		t.Errorf("%d bytes", size)
	}
	u := Start(t, gatetest.New(t, 1<<20, gatetest.Shed), "127.0.0.1:0", 1)
	if at := uintptr(unsafe.Pointer(u.stats)); at%128 != 0 {
		t.Errorf("they begin %d bytes into a line", at%128)
	}
}
