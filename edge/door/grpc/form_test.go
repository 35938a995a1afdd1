package grpc_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// forms are policies whose answers have a form of their own.
const forms = `
rules: [{name: login, limit: 2, window: 1m}]
pools: [{name: workers, order: [batch]}]
policies:
  - {name: work, match: {path: "/work"}, tier: batch, pool: workers}
  - {name: quiet, match: {path: "/quiet"}, limit: 1, window: 1m, on_deny: {status: 503, announce: false, body: later}}
  - {name: loud, match: {path: "/loud"}, limit: 1, window: 1m, on_deny: {status: 418, body: tea}}
  - {name: trap, match: {path: "/trap"}, limit: 1, window: 1m, on_deny: {deceive: true}}
  - {name: bait, match: {path: "/bait"}, deny: 403, on_deny: {deceive: true}}
  - {name: slow, match: {path: "/slow"}, burst: 1, delay: 60s, limit: 1, window: 1m}
  - {name: busy, match: {path: "/busy"}, kind: concurrency, limit: 1}
  - {name: spent, match: {path: "/spent"}, limit: 10, window: 1m, cost: {of: header.x-cost, max: 10}}
`

// TestFormOfLimits: on_deny of a policy gives the answer of a rate limit service its status, body
// and silence; who can pretend is answered OK, and then no other descriptor admits anything.
func TestFormOfLimits(t *testing.T) {
	t.Parallel()
	h := open(t, forms)
	c := h.dial(t)
	login := describe("rule", "login", "user", "anna")
	const trap = `RateLimit-Policy: "trap";q=1;w=60 RateLimit: "trap";r=0;t=60`
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{describe("path", "/quiet")}, "OK [OK]"},
		{[]string{describe("path", "/quiet")}, "OVER [OVER] later status 503"},
		{
			[]string{describe("path", "/loud")},
			`OK [OK loud 1/MINUTE left 0 reset 60] RateLimit-Policy: "loud";q=1;w=60 RateLimit: "loud";r=0;t=60`,
		},
		{
			[]string{describe("path", "/loud")},
			`OVER [OVER loud 1/MINUTE left 0 reset 60] RateLimit-Policy: "loud";q=1;w=60 RateLimit: "loud";r=0;t=60 Retry-After: 60 tea status 418`,
		},
		{[]string{describe("path", "/trap")}, "OK [OK trap 1/MINUTE left 0 reset 60] " + trap},
		{
			[]string{describe("path", "/trap")},
			"OVER [OVER trap 1/MINUTE left 0 reset 60] " + trap + " Retry-After: 60",
		},
		{
			[]string{describe("path", "/trap", "deceive", "ok"), login},
			"OK [OK] [OK login 2/MINUTE left 2 reset 0] ^Headgate-Deceive: 1",
		},
		{
			[]string{describe("path", "/bait", "deceive", "ok"), login},
			"OK [OK] [OK login 2/MINUTE left 2 reset 0] ^Headgate-Deceive: 1",
		},
		{[]string{describe("path", "/bait")}, "OVER [OVER] status 403"},
		{
			[]string{describe("path", "/"+strings.Repeat("a", 8192)), login},
			`OVER [OVER] [OK login 2/MINUTE left 2 reset 0] RateLimit-Policy: "login";q=2;w=60 RateLimit: "login";r=2;t=0 status 414`,
		},
		{[]string{describe("path", "/", "cut", "header.x-cost")}, "OVER [OVER] status 431"},
		{[]string{describe("path", "/", "asn", "x", "tier", "", "host", "a b")}, "OK [OK]"},
		// one that cannot pretend denies for all
		{
			[]string{describe("path", "/trap", "deceive", "ok"), describe("path", "/bait")},
			"OVER [OVER trap 1/MINUTE left 0 reset 60] [OVER] " +
				trap + " Retry-After: 60 status 403",
		},
	} {
		if got := c.limit(limits("d", tt.parts...)); !doortest.SameButRetry(got, tt.want) {
			t.Errorf("%q:\n%s\nwant %s", tt.parts, got, tt.want)
		}
	}
	if left := h.left("login", "anna"); left != 2 {
		t.Errorf("a deceived request took %d of another limit", 2-left)
	}
}

// TestDelayOfLimits: a request is delayed only if its descriptor says that it can wait.
func TestDelayOfLimits(t *testing.T) {
	t.Parallel()
	h := open(t, forms)
	c := h.dial(t)
	slow, waits := describe("path", "/slow"), describe("path", "/slow", "delay", "ok")
	if got := c.limit(limits("d", slow)); !strings.HasPrefix(got, "OK") ||
		strings.Contains(got, "Delay") {
		t.Error(got)
	}
	if got := c.limit(limits("d", slow)); !strings.HasPrefix(got, "OVER") ||
		strings.Contains(got, "Delay") {
		t.Error(got)
	}
	got := c.limit(limits("d", waits))
	if _, delay, _ := strings.Cut(got, "^Headgate-Delay: "); !strings.HasPrefix(got, "OK") ||
		len(delay) != 5 || delay > "60000" || delay < "49999" {
		t.Error(got)
	}
	c.authz(check("203.0.113.9", get("GET", "/slow")))
	if got := c.authz(check("203.0.113.9", get("GET", "/slow"),
		msg(10, msg(1, "delay"), msg(2, "no")))); !strings.HasPrefix(got, "7 429") {
		t.Error(got)
	}
	got = c.authz(check("203.0.113.9", get("GET", "/slow"), msg(10, msg(1, "delay"), msg(2, "ok"))))
	if !strings.HasPrefix(got, "0 ^Headgate-Delay: ") {
		t.Error(got)
	}
}

// TestFormOfChecks: likewise for external authorization, which has fields for all of it.
func TestFormOfChecks(t *testing.T) {
	t.Parallel()
	h := open(t, forms)
	c := h.dial(t)
	deceive := msg(10, msg(1, "deceive"), msg(2, "ok"))
	c.authz(check("203.0.113.9", get("GET", "/trap")))
	for _, tt := range []struct{ message, want string }{
		{check("203.0.113.9", get("GET", "/trap")), "7 429 RateLimit-Policy: "},
		{check("203.0.113.9", get("GET", "/trap"), deceive), "0 ^Headgate-Deceive: 1"},
		{check("203.0.113.9", get("GET", "/bait"), deceive), "0 ^Headgate-Deceive: 1"},
		{check("203.0.113.9", get("GET", "/bait")), "7 403 Headgate-Why: policy "},
	} {
		if got := c.authz(tt.message); !strings.HasPrefix(got, tt.want) ||
			strings.HasSuffix(tt.want, "1") && got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// TestBusyPool: a pool that is too busy denies at both services, and says when to come again.
func TestBusyPool(t *testing.T) {
	t.Parallel()
	h := open(t, forms)
	gatetest.Busy(t, h.room, h.gate.Now(), "workers")
	c := h.dial(t)
	if got, want := c.limit(limits("d", describe("path", "/work"))),
		"OVER [OVER] Retry-After: 1 status 503"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := `7 503 Retry-After: 1 Headgate-Why: load Content-Type: application/problem+json ` +
		`{"type":"about:blank","title":"Denied by a pool","status":503,"verdict":"deny","why":"load","pool":"workers","retry_after":1}`
	if got := c.authz(check("203.0.113.9", get("GET", "/work"))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestPoliciesGiveBack: negative hits of a descriptor for policies are taken from what they
// admitted, and release a place.
func TestPoliciesGiveBack(t *testing.T) {
	t.Parallel()
	h := open(t, forms)
	c := h.dial(t)
	negative := num(4, 1)
	spent := []string{"path", "/spent", "header.x-cost", "3"}
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{describe(spent...)}, "OK spent 10/MINUTE left 7 reset 60"},
		{[]string{describe(spent...), num(3, 2)}, "OK spent 10/MINUTE left 1 reset 60"},
		{
			[]string{describe(append(spent, "+", negative)...), num(3, 2)},
			"OK spent 10/MINUTE left 7 reset 60",
		},
		{[]string{describe("path", "/busy")}, "OK busy 1/? left 0 reset 60"},
		{[]string{describe("path", "/busy")}, "OVER busy 1/? left 0 reset 1"},
		{[]string{describe("path", "/busy", "+", negative)}, "OK busy 1/? left 1 reset 0"},
		{[]string{describe("path", "/busy")}, "OK busy 1/? left 0 reset 60"},
	} {
		if got := firstStatus(c.limit(limits("d", tt.parts...))); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.parts, got, tt.want)
		}
	}
	// a fault elsewhere in the request: nothing is given back
	c.limit(limits("d", describe(append(spent, "+", negative)...),
		describe("rule", "nosuch", "k", "1")))
	if got := firstStatus(c.limit(
		limits("d", describe(append(spent, "+", msg(3))...)))); got != "OK spent 10/MINUTE left "+
		"7 reset 60" {
		t.Error(got)
	}
}

// TestNoLeaseLeft: where no lease is left the failure mode decides, and the answer says so.
func TestNoLeaseLeft(t *testing.T) {
	t.Parallel()
	h := open(t, forms)
	gatetest.TakeAllLeases(t, h.gate, "busy")
	c := h.dial(t)
	if got := c.limit(limits("d", describe("path", "/busy"))); !strings.HasPrefix(got, "OK") ||
		!strings.HasSuffix(got, " ^Headgate-Full: 1") {
		t.Error(got)
	}
	if got := c.authz(check("203.0.113.9", get("GET", "/busy"))); !strings.HasPrefix(got,
		"0 ^Headgate-Full: 1 ") {
		t.Error(got)
	}
}
