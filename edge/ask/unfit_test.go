package ask_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// askUnfit asks about a target of that many bytes.
func (h *house) askUnfit(size int) ask.Answer {
	r := h.s.Read(netip.Addr{})
	r.Target(bytes.Repeat([]byte("/a"), size/2))
	r.End()
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	return *h.s.Decide(&b, h.now, 7)
}

// TestUnfit: an unfit request is denied while anything in force can deny, and counts under no rule.
func TestUnfit(t *testing.T) {
	edgetest.Alone(t)
	const limited = `{name: all, match: {}, key: all, limit: 5, window: 1m`
	for _, tt := range []struct {
		name, policies string
		deny           bool
	}{
		{"no policies", `{}`, false},
		{"a limit", `policies: [` + limited + `}]`, true},
		{"a limit in shadow", `policies: [` + limited + `, mode: shadow}]`, false},
		{"a limit that is off", `policies: [` + limited + `, mode: off}]`, false},
		{"a denial", `policies: [{name: no, match: {path: /no}, deny: 403}]`, true},
		{
			"a denial in shadow",
			`policies: [{name: no, match: {path: /no}, deny: 403, mode: shadow}]`, false,
		},
		{"a skip", `policies: [{name: ours, match: {path: /ours}, skip: all}]`, false},
		{"a rule in shadow", `
rules: [{name: r, limit: 5, window: 1m, mode: shadow}]
policies: [{name: p, match: {}, key: all, rules: [r]}]`, false},
		{"a rule that enforces", `
rules: [{name: r, limit: 5, window: 1m}]
policies: [{name: p, match: {}, key: all, rules: [r]}]`, true},
		{"a policy in shadow of a rule that enforces", `
rules: [{name: r, limit: 5, window: 1m}]
policies: [{name: p, match: {}, key: all, rules: [r], mode: shadow}]`, false},
		{"a pool", `
pools: [{name: db, shed_above: 0.8, restore_below: 0.7}]
policies: [{name: p, match: {}, pool: db}]`, true},
	} {
		h := open(t, tt.policies)
		a := h.askUnfit(request.MaxTarget + 2)
		if a.Why != ask.ByUnfit || a.Deny != tt.deny || a.Shadow == tt.deny ||
			a.Deny && a.Status != 414 {
			t.Errorf("%s: %+v", tt.name, a)
		}
		if n := h.room.Stats(h.now).Unfit[ask.Program][request.UnfitTarget]; n != 1 {
			t.Errorf("%s: %d counted", tt.name, n)
		}
		if a := h.askUnfit(request.MaxTarget); a.Why == ask.ByUnfit || a.Deny {
			t.Errorf("%s: a fit one: %+v", tt.name, a)
		}
	}
}

// TestUnfitKilled: under the kill switch nothing is denied for being unfit.
func TestUnfitKilled(t *testing.T) {
	h := open(t, `policies: [{name: no, match: {path: /no}, deny: 403}]`)
	h.room.Kill(true)
	if a := h.askUnfit(9000); a.Deny || !a.Shadow {
		t.Errorf("%+v", a)
	}
	h.room.Kill(false)
	if a := h.askUnfit(9000); !a.Deny {
		t.Errorf("%+v", a)
	}
	h.room.Kill(true)
	h.put(h.parse(`policies: [{name: no, match: {path: /no}, deny: 403}]`))
	if a := h.askUnfit(9000); !a.Deny {
		t.Errorf("after a reload: %+v", a)
	}
}

// TestUnfitMode: the mode that counts is the one that the gate has.
func TestUnfitMode(t *testing.T) {
	h := open(t, `policies: [{name: all, match: {}, key: all, limit: 5, window: 1m}]`)
	h.gate.SetMode("all", mitigation.Shadow)
	if a := h.askUnfit(9000); a.Deny || !a.Shadow {
		t.Errorf("%+v", a)
	}
}

// TestUnfitBesidePolicies: other rules of a door may deny too.
func TestUnfitBesidePolicies(t *testing.T) {
	h := open(t,
		`rules: [{name: r, limit: 5, window: 1m}, {name: s, limit: 5, window: 1m, mode: shadow}]`)
	if a := h.askUnfit(9000); a.Deny {
		t.Errorf("%+v", a)
	}
	if h.s.Also = []mitigation.Rule{{Name: "s"}}; h.askUnfit(9000).Deny {
		t.Error("a rule in shadow denies")
	}
	if h.s.Also = []mitigation.Rule{{Name: "s"}, {Name: "r"}}; !h.askUnfit(9000).Deny {
		t.Error("a rule does not deny")
	}
}

// TestUnfitParts: an unfit part of several is denied, and nothing is admitted under the others.
func TestUnfitParts(t *testing.T) {
	h := open(t, `policies: [{name: all, match: {}, key: all, limit: 5, window: 1m}]`)
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	h.s.Start()
	parts := make([]ask.Part, 2)
	for i, target := range [][]byte{[]byte("/"), bytes.Repeat([]byte("/"), 9000)} {
		r := h.s.Read(netip.Addr{})
		r.Target(target)
		r.End()
		h.s.AddRequest(&parts[i], &b, 1, ask.Take)
	}
	deny, err := h.s.DecideAll(&b, parts)
	if err != nil || !deny || parts[1].Why != ask.ByUnfit || parts[1].Status != 414 {
		t.Errorf("%v %v %+v", deny, err, parts[1].Answer)
	}
	if d := parts[0].By; d == nil || d.Remaining != 5 {
		t.Errorf("%+v", parts[0].Answer)
	}
}

// TestUnreadClient: a visitor whose address cannot be read is not the proxy to a policy that skips
// the operator's own network, and counts as the proxy.
func TestUnreadClient(t *testing.T) {
	h := open(t, `
policies:
  - {name: ours, match: {client: 127.0.0.0/8}, skip: all}
  - {name: visitors, match: {not: {client: 127.0.0.0/8}}, limit: 3, window: 1m}
  - {name: everybody, match: {client: 0.0.0.0/0}, key: all, limit: 9, window: 1m}`)
	for from, want := range map[string]ask.Why{
		"": ask.BySkip, "\x01": ask.ByRules,
		"203.0.113.7": ask.ByRules,
	} {
		r := h.s.Read(netip.MustParseAddr("127.0.0.1"))
		r.Target([]byte("/"))
		r.Header([]byte("X-Forwarded-For"), []byte(from))
		r.End()
		b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
		if a := h.s.Decide(&b, h.now, 7); a.Why != want {
			t.Errorf("%q: %+v", from, a)
		}
		b.End()
	}
	if n := h.gate.Offered(h.now, []byte("visitors"), []byte("127.0.0.1")); n != 1 {
		t.Errorf("%d offered", n)
	}
	if n := h.gate.Offered(h.now, []byte("everybody"), []byte("all")); n != 2 {
		t.Errorf("%d offered to all", n)
	}
}
