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

// retries returns the shortest and the longest retry, in seconds, that ask gives over all draws of luck.
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

// A retry is spread by a tenth for whole requests, and exact for who names rule and key, unless the rule
// says how much: then it is so for both.
func TestRetriesOfRequestsAreSpread(t *testing.T) {
	h := open(t, spreading)
	check := func(rule string) gate.Ask { return gate.Ask{Rule: []byte(rule), Key: []byte("h.example")} }
	fill := func(path string) {
		h.fill("GET", path, "203.0.113.7", 0)
		h.s.Request.SetHost([]byte("h.example"))
	}
	for _, c := range []struct {
		rule                   string
		checked, asked, listed int // the longest retries
	}{
		{"silent", 60, 66, 66},
		{"exact", 60, 60, 60},
		{"wide", 90, 90, 90},
	} {
		h.retries(func(b *gate.Batch) *gate.Decision { // uses up the limit
			var d gate.Decision
			a := check(c.rule)
			for !d.Deny {
				if err := b.Decide(&d, &a); err != nil {
					t.Fatal(err)
				}
			}
			return &d
		})
		for way, ask := range map[string]struct {
			most int
			by   func(b *gate.Batch) *gate.Decision
		}{
			"checked": {c.checked, func(b *gate.Batch) *gate.Decision {
				var d gate.Decision
				a := check(c.rule)
				if err := b.Decide(&d, &a); err != nil {
					t.Fatal(err)
				}
				return &d
			}},
			"asked": {c.asked, func(b *gate.Batch) *gate.Decision {
				fill("/" + c.rule)
				return h.s.Decide(b, h.now, 0).By
			}},
			"asked in a list": {c.listed, func(b *gate.Batch) *gate.Decision {
				parts := make([]ask.Part, 1)
				h.s.Start()
				fill("/" + c.rule)
				h.s.AddRequest(&parts[0], b, 1, ask.Take)
				if _, err := h.s.DecideAll(b, parts); err != nil {
					t.Fatal(err)
				}
				return parts[0].By
			}},
			"named in a list": {c.checked, func(b *gate.Batch) *gate.Decision {
				parts := make([]ask.Part, 1)
				h.s.Start()
				h.s.AddQuestion(&parts[0], check(c.rule), ask.Take)
				if _, err := h.s.DecideAll(b, parts); err != nil {
					t.Fatal(err)
				}
				return parts[0].By
			}},
		} {
			if least, most := h.retries(ask.by); least != 60 || most != ask.most {
				t.Errorf("%s, %s: %d to %d s, want 60 to %d", c.rule, way, least, most, ask.most)
			}
		}
	}
	least, most := h.retries(func(b *gate.Batch) *gate.Decision { // the choice is by exact times: of equals the first
		fill("/both")
		a := h.s.Decide(b, h.now, 0)
		if a.By.Rule.Name != "silent" {
			t.Fatalf("%s answers", a.By.Rule.Name)
		}
		return a.By
	})
	if least != 60 || most != 66 {
		t.Errorf("of two rules: %d to %d s, want 60 to 66", least, most)
	}
}
