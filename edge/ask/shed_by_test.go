package ask_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const drawnByClient = `
gossip: {bind: "127.0.0.1:4293"}
rules:
  - {name: shared, limit: 1000000, window: 1s, scope: global, shed_by: header.b | client, epoch: 5s}
policies:
  - {name: site, match: {path: /site}, key: host, limit: 1000000, window: 1s, scope: global, shed_by: client}
  - {name: api, match: {path: /api}, key: host, rules: [shared]}
`

// openShed is open for a gate in which key h.example of each rule is shed by a tenth until that
// time.
func openShed(t *testing.T, text string, until time.Duration, rules ...string) *house {
	t.Helper()
	h := &house{t: t}
	c := h.parse(text)
	h.gate = gate.New(gate.Options{
		Node: "test", Memory: 4 << 20, Rules: c.AllRules(), Flush: 100 * time.Millisecond,
		Start: time.Now(), Global: &gate.Global{},
	})
	h.room = ask.New(h.gate, ask.TicketBytes)
	h.put(c)
	h.now = h.gate.Now()
	h.s = h.room.NewSession()
	key := []byte("h.example")
	for _, rule := range rules {
		f, err := h.gate.Override(h.now,
			gate.ByHand{Rule: rule, Key: key, Action: mitigation.Allow, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		h.gate.Lift(h.now, rule, key, "")
		const ratio = mitigation.Ratio(math.MaxUint32 / 10)
		h.gate.Apply(h.now, control.Advice{
			Rule: rule, Key: key, Index: f.Index, Ratio: ratio,
			RateOnly: 1, Until: h.now.Add(until),
		})
	}
	return h
}

// addressOf returns the address of a client by its number.
func addressOf(client int) netip.Addr {
	return netip.AddrFrom4([4]byte{203, 0, byte(client >> 8), byte(client)})
}

// askHost asks for a page of host.
func (h *house) askHost(host string) ask.Answer {
	h.fill("GET", "/site", "203.0.113.7", 0)
	h.s.Request.SetHost([]byte(host))
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	return *h.s.Decide(&b, h.now, rand.Uint64())
}

// affected returns how many of the clients, numbered, have a page of three requests with a denial
// in it.
func (h *house) affected(path string, clients int, counted func(client, denied int)) (n int) {
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	for client := range clients {
		denied := 0
		for range 3 {
			h.s.Begin()
			r := &h.s.Request
			r.Method = []byte("GET")
			r.SetHost([]byte("h.example"))
			r.SetTarget([]byte(path), h.s.Clients())
			h.s.FindClient(addressOf(client))
			if a := h.s.Decide(&b, h.now, 0); a.Deny {
				denied++
				if a.By.Why != mitigation.ByShed {
					h.t.Fatalf("%+v", a.By)
				}
			}
		}
		if counted(client, denied); denied > 0 {
			n++
		}
	}
	return n
}

// With shed_by: client a ratio of 10 % affects one client in ten, and all its requests, for an
// epoch: not 27 % of the clients, each with a page that lacks something. In the next epoch it is
// others.
func TestARatioByClient(t *testing.T) {
	edgetest.Alone(t)
	const clients, epochs = 400, 16
	h := openShed(t, drawnByClient, time.Hour, "site", "shared")
	for _, c := range []struct {
		path  string
		epoch time.Duration
	}{{"/site", 10 * time.Second}, {"/api", 5 * time.Second}} {
		hits := make([]int, clients)
		// an epoch begins
		h.now = window.Instant((int64(h.now)/int64(c.epoch) + 1) * int64(c.epoch))
		total := 0
		for range epochs {
			n := h.affected(c.path, clients, func(client, denied int) {
				if denied != 0 && denied != 3 {
					t.Fatalf("client %d: %d of 3 requests denied", client, denied)
				}
				hits[client] += denied / 3
			})
			if n < 40-37 || n > 40+37 { // 6 standard deviations
				t.Errorf("%s: %d of %d clients affected, want about 40", c.path, n, clients)
			}
			total += n
			h.now = h.now.Add(c.epoch - 1)
			same := 0
			h.affected(c.path, clients, func(_, denied int) { same += denied / 3 })
			if same != n {
				t.Errorf("%s: %d clients affected at the end of the epoch, %d at its start", c.path,
					same, n)
			}
			h.now++
		}
		// each client is as likely as any other, and each epoch is a draw of its own: the sum of
		// squares over the variance of a binomial is a chi-square of clients-1 degrees of freedom
		mean := float64(total) / clients
		variance, sum := mean*(1-mean/epochs), 0.0
		for _, k := range hits {
			sum += (float64(k) - mean) * (float64(k) - mean)
		}
		if chi := sum / variance; math.Abs(chi-(clients-1)) > 7*math.Sqrt(2*clients) {
			t.Errorf("%s: chi-square %.0f of %d degrees of freedom", c.path, chi, clients-1)
		}
	}
}

// A request without the part is drawn for by itself.
func TestARatioWithoutThePart(t *testing.T) {
	h := openShed(t, `
gossip: {bind: "127.0.0.1:4293"}
rules: []
policies:
  - {name: site, match: {}, key: host, limit: 1000000, window: 1s, scope: global, shed_by: header.b}
`, time.Hour, "site")
	denied := 0
	for range 1024 { // whole blocks of mitigation.Dice, of 25.6 denials each
		if h.askHost("h.example").Deny {
			denied++
		}
	}
	if denied < 100 || denied > 104 {
		t.Errorf("%d of 1024 denied, want 100 to 104", denied)
	}
}

// A rule that draws by a part allocates nothing.
func TestARatioByClientAllocatesNothing(t *testing.T) {
	h := openShed(t, drawnByClient, time.Hour, "site")
	h.askHost("h.example")
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	if n := testing.AllocsPerRun(200, func() { h.s.Decide(&b, h.now, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
