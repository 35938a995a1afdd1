package ask_test

import (
	"math/rand/v2"
	"testing"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
)

// TestOnDeny: a policy's on_deny gives its denials their status, body and silence; who can pretend
// is answered allow, and nothing is admitted.
func TestOnDeny(t *testing.T) {
	h := open(t, `
rules: []
policies:
  - {name: quiet, match: {path: "/quiet"}, limit: 1, window: 1m, on_deny: {status: 503, announce: false, body: "later"}}
  - {name: trap, match: {path: "/trap"}, limit: 1, window: 1m, on_deny: {deceive: true}}
  - {name: scanners, match: {path: "/.env"}, deny: 404, on_deny: {announce: false, body: "not here"}}
  - {name: plain, match: {path: "/plain"}, limit: 1, window: 1m}
`)
	shown := func() (n int) {
		h.s.Decisions(4, func(*gate.Decision) { n++ })
		return n
	}
	first := h.ask("GET", "/quiet", "203.0.113.7")
	if first.Deny || !first.Silent || first.Body != "" || shown() != 0 {
		t.Errorf("an allow of a quiet policy: %+v, %d limits shown", first, shown())
	}
	for _, tt := range []struct {
		path   string
		can    bool // pretend
		want   ask.Answer
		limits int
	}{
		{"/quiet", true, ask.Answer{Deny: true, Status: 503, Silent: true, Body: "later"}, 0},
		{"/trap", false, ask.Answer{Deny: true, Status: 429}, 1},
		{"/trap", true, ask.Answer{Deceive: true, Silent: true}, 0},
		{"/.env", true, ask.Answer{
			Why: ask.ByPolicy, Deny: true, Status: 404, Silent: true,
			Body: "not here", Policy: "scanners",
		}, 0},
		{"/plain", true, ask.Answer{Deny: true, Status: 429}, 1},
	} {
		h.ask("GET", tt.path, "203.0.113.7") // the one that passes
		h.fill("GET", tt.path, "203.0.113.7", 0)
		h.s.CanDeceive = tt.can
		b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
		got := *h.s.Decide(&b, h.now, 1)
		b.End()
		limits := shown()
		if got.By != nil && (tt.want.Why != ask.ByRules || !got.By.Deny) {
			t.Errorf("%s: by %+v", tt.path, got.By)
		}
		got.By = nil
		if got != tt.want || tt.path != "/.env" && limits != tt.limits {
			t.Errorf("%s: %+v, want %+v; %d limits shown, want %d", tt.path, got,
				tt.want, limits, tt.limits)
		}
	}
	if f := h.room.Figures(); f[1].Denied.Total() != 3 {
		t.Errorf("the deceived are not counted as denied: %+v", f[1])
	}
}
