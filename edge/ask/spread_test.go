package ask_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
)

const spreading = `
rules:
  - {name: silent, limit: 1, window: 1m}
  - {name: exact, limit: 1, window: 1m, retry_spread: 0%}
  - {name: wide, limit: 1, window: 1m, retry_spread: 50%}
policies:
  - {name: silent-asks, match: {path: /silent}, key: host, rules: [silent]}
  - {name: exact-asks, match: {path: /exact}, key: host, rules: [exact]}
  - {name: wide-asks, match: {path: /wide}, key: host, rules: [wide]}
  - {name: both, match: {path: /both}, key: host, rules: [silent, wide]}
`

// retries returns the shortest and the longest retry, in seconds, that ask gives over all draws of
// luck.
func (h *house) retries(ask func(b *gate.Batch) *gate.Decision) (least, most int) {
	h.t.Helper()
	const draws = 64
	u := uint64(0)
	b := h.gate.Lane(0).Batch(h.now, func() uint64 { u += 1 << 58; return u })
	defer b.End()
	for n := range draws {
		d := ask(&b)
		if !d.Deny {
			h.t.Fatalf("%s passes", d.Rule.Name)
		}
		retry := int((d.Retry + time.Second - 1) / time.Second)
		if n == 0 || retry < least {
			least = retry
		}
		most = max(most, retry)
	}
	return least, most
}

// checked answers who names rule and key.
func checked(t *testing.T, rule string) func(*gate.Batch) *gate.Decision {
	return func(b *gate.Batch) *gate.Decision {
		var d gate.Decision
		a := gate.Ask{Rule: []byte(rule), Key: []byte("h.example")}
		if err := b.Decide(&d, &a); err != nil {
			t.Fatal(err)
		}
		return &d
	}
}

// asked answers the request of a path.
func (h *house) asked(path string) func(*gate.Batch) *gate.Decision {
	return func(b *gate.Batch) *gate.Decision {
		h.fill("GET", path, "203.0.113.7", 0)
		h.s.Request.SetHost([]byte("h.example"))
		return h.s.Decide(b, h.now, 0).By
	}
}

// listed answers a list of one part, which add adds.
func (h *house) listed(add func(*ask.Part, *gate.Batch)) func(*gate.Batch) *gate.Decision {
	return func(b *gate.Batch) *gate.Decision {
		parts := make([]ask.Part, 1)
		h.s.Start()
		add(&parts[0], b)
		if _, err := h.s.DecideAll(b, parts); err != nil {
			h.t.Fatal(err)
		}
		return parts[0].By
	}
}

// A retry is spread by a tenth for whole requests, and exact for who names rule and key, unless the
// rule says how much: then it is so for both.
func TestRetriesOfRequestsAreSpread(t *testing.T) {
	h := open(t, spreading)
	for _, c := range []struct {
		rule           string
		checked, asked int // the longest retries
	}{
		{"silent", 60, 66},
		{"exact", 60, 60},
		{"wide", 90, 90},
	} {
		b := h.gate.Lane(0).Batch(h.now, func() uint64 { return 0 })
		for !checked(t, c.rule)(&b).Deny { // until the limit is used up
			continue
		}
		b.End()
		for way, ask := range map[string]struct {
			most int
			by   func(*gate.Batch) *gate.Decision
		}{
			"checked": {c.checked, checked(t, c.rule)},
			"asked":   {c.asked, h.asked("/" + c.rule)},
			"asked in a list": {c.asked, h.listed(func(p *ask.Part, b *gate.Batch) {
				h.fill("GET", "/"+c.rule, "203.0.113.7", 0)
				h.s.Request.SetHost([]byte("h.example"))
				h.s.AddRequest(p, b, 1, ask.Take)
			})},
			"named in a list": {c.checked, h.listed(func(p *ask.Part, _ *gate.Batch) {
				h.s.AddQuestion(p, gate.Ask{Rule: []byte(c.rule), Key: []byte("h.example")},
					ask.Take)
			})},
		} {
			if least, most := h.retries(ask.by); least != 60 || most != ask.most {
				t.Errorf("%s, %s: %d to %d s, want 60 to %d", c.rule, way, least, most, ask.most)
			}
		}
	}
}

// The choice of the rule that answers is by exact times: of equals the first.
func TestSpreadRetriesChooseNoRule(t *testing.T) {
	h := open(t, spreading)
	b := h.gate.Lane(0).Batch(h.now, func() uint64 { return 0 })
	for _, rule := range []string{"silent", "wide"} {
		for !checked(t, rule)(&b).Deny {
			continue
		}
	}
	b.End()
	least, most := h.retries(func(b *gate.Batch) *gate.Decision {
		d := h.asked("/both")(b)
		if d.Rule.Name != "silent" {
			t.Fatalf("%s answers", d.Rule.Name)
		}
		return d
	})
	if least != 60 || most != 66 {
		t.Errorf("%d to %d s, want 60 to 66", least, most)
	}
}
