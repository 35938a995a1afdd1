package ask_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

const partner = `
rules: []
policies:
  - name: partner
    match: {}
    key: host
    limit: 5
    window: 1m
    action: block
    block_for: 10m
    max_blast: 40
`

// askAs asks as a client, by its number.
func (h *house) askAs(client int) ask.Answer {
	h.s.Begin()
	r := &h.s.Request
	r.Method = []byte("GET")
	r.SetHost([]byte("h.example"))
	r.SetTarget([]byte("/"), h.s.Clients())
	h.s.FindClient(addressOf(client))
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	return *h.s.Decide(&b, h.now, rand.Uint64())
}

// A block of a key of few clients is a block, however much they ask.
func TestABlockOfFewClients(t *testing.T) {
	h := open(t, partner)
	for n := range 500 {
		a := h.askAs(n % 8)
		if want := n >= 5; a.Deny != want ||
			n > 5 && (a.By.Why != mitigation.ByBlock || a.By.Blast != 0) {
			t.Fatalf("request %d: %+v", n, a.By)
		}
	}
}

// A block that would deny many clients sheds instead: the limit passes, and the denial says how
// many.
func TestABlockOfManyClientsSheds(t *testing.T) {
	h := open(t, partner)
	passed, blocked, shed := 0, 0, 0
	for n := range 6000 {
		h.now = h.now.Add(time.Minute / 1000)
		switch a := h.askAs(n % 600); {
		case !a.Deny:
			passed++
		case a.By.Why == mitigation.ByShed:
			if shed++; a.By.Blast <= 40 || a.By.Blast > 1200 || a.By.Retry > time.Minute {
				t.Fatalf("request %d: %+v", n, a.By)
			}
		case n > 300:
			t.Fatalf("request %d is not shed: %+v", n, a.By)
		default:
			blocked++
		}
	}
	if passed < 10 || passed > 30 || blocked < 20 || blocked > 120 || passed+blocked+shed != 6000 {
		t.Errorf("in six minutes %d passed, want about 5 a minute, %d were blocked and %d shed",
			passed, blocked, shed)
	}
	is, _ := h.gate.Inspect(h.now, 0, "partner", []byte("h.example"), nil)
	if is.Flag == nil || is.Flag.Action != mitigation.Shed ||
		is.Flag.Ratio == 0 || is.Strikes != 0 {
		t.Errorf("the flag: %+v", is.Flag)
	}
}

// An operator's block is not softened.
func TestABlockByHandStays(t *testing.T) {
	h := open(t, partner)
	if _, err := h.gate.Override(h.now, gate.ByHand{
		Rule: "partner", Key: []byte("h.example"),
		Action: mitigation.Block, TTL: time.Hour,
	}); err != nil {
		t.Fatal(err)
	}
	for n := range 500 {
		if a := h.askAs(n); !a.Deny || a.By.Why != mitigation.ByBlock || a.By.Blast != 0 {
			t.Fatalf("request %d: %+v", n, a.By)
		}
	}
}
