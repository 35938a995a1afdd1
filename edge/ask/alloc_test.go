package ask_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestWhoIsDeniedAllocatesNothing: a denial by a network, by a block that sheds instead, by a
// longer block, and with a time that is spread, allocates as little as any other decision.
func TestWhoIsDeniedAllocatesNothing(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range []struct {
		name, text string
		crowd      bool // the key's block sheds instead
		denied     func(a *ask.Answer) bool
	}{
		{
			"max_blast", partner, true,
			func(a *ask.Answer) bool { return a.By.Why == mitigation.ByShed && a.By.Blast > 40 },
		},
		{
			"ladder", ladder, false,
			func(a *ask.Answer) bool {
				return a.By.Rule.Name == "site/24,56" &&
					a.By.Why == mitigation.ByLimit
			},
		},
		{
			"block_for", `policies: [{name: signin, match: {}, key: host, limit: 5, window: 1m, action: block, block_for: [10m, 1h]}]`, false,
			func(a *ask.Answer) bool {
				return a.By.Why == mitigation.ByBlock &&
					a.By.Retry >= 9*time.Minute
			},
		},
		{
			"retry_spread", `policies: [{name: site, match: {}, key: host, limit: 5, window: 1m, retry_spread: 100%}]`, false,
			func(a *ask.Answer) bool { return a.By.Late != 0 },
		},
	} {
		h := open(t, c.text)
		if c.crowd {
			gatetest.Crowd(t, h.gate, "partner", "h.example")
			h.now = h.gate.Now()
		}
		for client := range 100 {
			h.askAs(client)
		}
		b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
		method, host, target := []byte("GET"), []byte("h.example"), []byte("/")
		client, denied := 0, 0
		if n := testing.AllocsPerRun(200, func() {
			client++
			h.s.Begin()
			h.s.Request.Method = method
			h.s.Request.SetHost(host)
			h.s.Request.SetTarget(target, h.s.Clients())
			h.s.FindClient(addressOf(client))
			if a := h.s.Decide(&b, h.now, 7); a.Deny && c.denied(a) {
				denied++
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
		if denied < 190 {
			t.Errorf("%s: %d of 201 were denied by it", c.name, denied)
		}
		b.End()
	}
}
