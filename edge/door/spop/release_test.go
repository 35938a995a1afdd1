package spop_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate"
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
  - {name: spent, match: {path: "/spent"}, count_when: {path: "/spent", status: 200}, limit: 10, window: 1m}
  - {name: work, match: {path: "/work"}, tier: batch, pool: workers}
`

// TestPlaces: a question takes a place, and its end returns it: the report of the response, its
// release, or a release by rule and key.
func TestPlaces(t *testing.T) {
	t.Parallel()
	a := open(t, busy)
	a.greet()
	ask := func(want string) (ticket string) {
		t.Helper()
		a.send(frameOf(notify, fin, 1, 1, message("ask", "path", "/export", "src", visitor)))
		got := a.receive()
		if !strings.HasPrefix(got, "ack 1/1 "+want) {
			t.Errorf("%s, want %s", got, want)
		}
		_, ticket, _ = strings.Cut(got, " ticket=")
		return ticket
	}
	end := func(name, want string, pairs ...any) {
		t.Helper()
		a.send(frameOf(notify, fin, 1, 2, message(name, pairs...)))
		a.want("ack 1/2" + want)
	}
	for _, by := range []string{"report", "release"} {
		ticket := ask("deny=false rule=exports")
		ask("deny=true status=429 rule=exports why=limit retry_after=1")
		end(by, "", "ticket", ticket)
		end(by, "", "ticket", ticket) // late: nothing changes
	}
	end("release", "", "ticket", "-") // there was none
	ticket := ask("deny=false")
	end("release", "", "rule", "exports", "key", visitor, "lease", ticket)
	ask("deny=false")
	end("release", "", "rule", "exports", "key", visitor)
	ask("deny=false")
	for _, tt := range []struct {
		want  string
		pairs []any
	}{
		{"bad-request", nil},
		{"bad-request", []any{"path", "/export"}},
		{"bad-request", []any{"rule", "exports"}},
		{"bad-request", []any{"ticket", "zz"}},
		{"bad-request", []any{"rule", "exports", "key", "k", "lease", "zz"}},
		{"bad-request", []any{"rule", "kept", "key", "k"}},
		{"unknown-rule", []any{"rule", "nosuch", "key", "k"}},
		{"unknown-field", []any{"ticket", "-", "colour", "red"}},
	} {
		end("release", " error="+tt.want, tt.pairs...)
	}
	end("ask", " error=bad-request", "rule", "slots", "key", "k") // the question of another kind
	end("ask", " error=unknown-field", "path", "/", "lease", "k")
	end("report", " error=bad-request", "rule", "kept", "key", "k")
	ask("deny=true") // none of it released anything
}

// TestOtherAnswers: the variables of a delay, a reserve, a pool and of a table of leases without
// room.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	a := open(t, busy)
	a.greet()
	gatetest.Busy(t, a.room, a.gate.Now(), "workers")
	for _, tt := range []struct {
		pairs []any
		want  string
	}{
		{[]any{"path", "/slow", "src", visitor}, "deny=false rule=slow"},
		{[]any{"path", "/slow", "src", visitor}, "deny=true status=429 rule=slow why=limit"},
		{[]any{"path", "/slow", "src", visitor, "delay", "ok"}, " delay="},
		{[]any{"path", "/work", "src", visitor}, "deny=true status=503 why=load retry_after=1"},
		{[]any{"rule", "kept", "key", "k"}, "deny=false rule=kept"},
		{[]any{"rule", "kept", "key", "k"}, "deny=true status=503 rule=kept why=reserve"},
		{[]any{"rule", "kept", "key", "k", "tier", "critical"}, "deny=false rule=kept"},
	} {
		a.send(frameOf(notify, fin, 1, 1, message("ask", tt.pairs...)))
		if got := a.receive(); !strings.Contains(got, tt.want) {
			t.Errorf("%v: %s, want %s", tt.pairs, got, tt.want)
		}
	}
	a.send(frameOf(notify, fin, 1, 1,
		message("report", "path", "/spent", "src", visitor, "status", 200, "cost", 7)))
	a.want("ack 1/1")
	if got := gatetest.Decide(a.gate, a.gate.Now(), gate.Peek, "spent", "203.0.113.9",
		1).Remaining; got != 3 {
		t.Errorf("a report with a cost of 7 leaves %d of 10", got)
	}
	gatetest.TakeAllLeases(t, a.gate, "exports")
	a.send(frameOf(notify, fin, 1, 1, message("ask", "path", "/export", "src", visitor)))
	if got := a.receive(); !strings.HasPrefix(got, "ack 1/1 deny=false") ||
		!strings.HasSuffix(got, " full=true") {
		t.Error(got)
	}
}
