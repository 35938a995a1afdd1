package resp_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const busy = `
rules:
  - {name: slots, kind: concurrency, limit: 1}
  - {name: kept, limit: 10, window: 1m, reserve: {critical: 90%}}
pools: [{name: workers, order: [batch]}]
policies:
  - {name: exports, match: {path: "/export"}, kind: concurrency, limit: 1}
  - {name: slow, match: {path: "/slow"}, burst: 1, delay: 60s, limit: 1, window: 1m}
  - {name: work, match: {path: "/work"}, tier: batch, pool: workers}
`

// TestNoise: a connection that sends nothing but unknown commands ends; one right command among
// them begins the count again.
func TestNoise(t *testing.T) {
	t.Parallel()
	n := open(t, "cl.throttle", 1<<20)
	for range 3 {
		n.send(strings.Repeat("NOISE\r\n", 999) + "PING\r\n")
		for range 999 {
			n.receive()
		}
		if got := n.receive(); got != "PONG" {
			t.Fatal(got)
		}
	}
	began := time.Now()
	n.send(strings.Repeat("NOISE\r\n", 1001))
	for range 1000 {
		if got := n.receive(); got != "ERR unknown command 'NOISE'" {
			t.Fatal(got)
		}
	}
	if got := n.receive(); got != "closed" {
		t.Error(got)
	}
	if s := n.door.Stats(); s.Broken != 1 {
		t.Errorf("%+v", s)
	}
	n.held(began, 0)
}

// TestOtherAnswers: the fields of a pool, a reserve, a delay and of a table of leases without room.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	n := openWith(t, busy, "cl.throttle", 1<<20)
	gatetest.Busy(t, n.room, n.gate.Now(), "workers")
	ask := func(want string, args ...string) {
		t.Helper()
		n.send(command(args...))
		if got := n.receive(); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s, want %s", args, got, want)
		}
	}
	ask("[verdict deny why load pool workers retry 1 ratio 1.00 status 503]",
		"HEADGATE.ASK", "path", "/work")
	ask("[verdict allow rule kept remaining ", "HEADGATE.CHECK", "kept", "k")
	ask("[verdict deny rule kept remaining 0 reset 60 view node why reserve retry 60 status 503]",
		"HEADGATE.CHECK", "kept", "k")
	ask("ERR bad-request", "HEADGATE.CHECK", "slots", "k") // the question of another kind
	ask("ERR unknown-rule", "HEADGATE.CHECK", "nosuch", "k")
	ask("[verdict allow rule slow", "HEADGATE.ASK", "path", "/slow")
	ask("[verdict deny rule slow", "HEADGATE.ASK", "path", "/slow")
	ask("[verdict allow delay ", "HEADGATE.ASK", "path", "/slow", "delay", "ok")
	gatetest.TakeAllLeases(t, n.gate, "exports")
	ask("[verdict allow full 1 rule exports", "HEADGATE.ASK", "path", "/export")
}

// TestCrowd: a denial says about how many clients a block would deny.
func TestCrowd(t *testing.T) {
	t.Parallel()
	n := openWith(t,
		`policies: [{name: partner, match: {}, key: host, limit: 1, window: 1m, action: block, block_for: 10m, max_blast: 20}]`,
		"", 1<<20)
	gatetest.Crowd(t, n.gate, "partner", "h.example")
	got := n.do("HEADGATE.ASK", "path", "/", "host", "h.example", "client", "203.0.113.7")
	if !regexp.MustCompile(`^\[verdict deny rule partner .* why shed retry \d+ ratio 0\.\d\d blast [2-9]\d\]$`).MatchString(got) {
		t.Error(got)
	}
}
