package ask_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const policies = `
sets: {office: {cidr: [192.0.2.0/24]}}
rules: []
policies:
  - {name: ours, match: {client: "@office"}, skip: all}
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - name: login
    match: {path: ["/login", "/token"]}
    count_when: {path: "/login", method: POST, status: 401}
    limit: 5
    window: 1m
    action: block
    block_for: 10m
  - {name: group, match: {path: "/v2/**"}, limit: 10, window: 1m}
  - {name: route, match: {path: "/v2/export"}, limit: 3, window: 1m}
`

// house is a room with policies over a gate with their rules.
type house struct {
	t    testing.TB
	gate *gate.Gate
	room *ask.Room
	s    *ask.Session
	now  window.Instant
}

func open(t testing.TB, text string) *house {
	t.Helper()
	h := &house{t: t}
	c := h.parse(text)
	h.gate = gatetest.New(t, 4<<20, c.AllRules()...)
	h.room = ask.New(h.gate, ask.TicketBytes)
	h.put(c)
	h.now = h.gate.Now()
	h.s = h.room.NewSession()
	return h
}

func (h *house) parse(text string) *config.Config {
	h.t.Helper()
	c, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		h.t.Fatal(err)
	}
	return &c
}

// put puts the policies of c in force, and its rules.
func (h *house) put(c *config.Config) {
	h.t.Helper()
	e, err := config.LoadPolicies(c, [32]byte{1})
	if err != nil {
		h.t.Fatal(err)
	}
	h.gate.SetRules(c.AllRules())
	h.room.SetPools(c.Pools)
	h.room.Set(e, c.AllRules(), time.Minute)
}

func (h *house) fill(method, path, client string, status int) {
	h.s.Begin()
	r := &h.s.Request
	r.Method, r.Status = []byte(method), status
	r.SetTarget([]byte(path), h.s.Clients())
	h.s.FindClient(netip.MustParseAddr(client))
}

func (h *house) ask(method, path, client string) ask.Answer {
	h.fill(method, path, client, 0)
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	return *h.s.Decide(&b, h.now, rand.Uint64())
}

func (h *house) report(ticket uint64, status int) bool {
	h.s.Begin()
	h.s.Request.Status = status
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	defer b.End()
	return h.s.Report(&b, h.now, ticket)
}

func TestAnswers(t *testing.T) {
	h := open(t, policies)
	for _, c := range []struct {
		path, client string
		why          ask.Why
		deny         bool
		status       int
	}{
		{"/nothing", "203.0.113.7", ask.ByNone, false, 0},
		{"/.env", "203.0.113.7", ask.ByPolicy, true, 403},
		{"/.env", "192.0.2.7", ask.BySkip, false, 0},
		{"/v2/a", "203.0.113.7", ask.ByRules, false, 0},
	} {
		if a := h.ask("GET", c.path, c.client); a.Why != c.why || a.Deny != c.deny ||
			a.Status != c.status || a.Ticket != 0 {
			t.Errorf("%s by %s: %+v", c.path, c.client, a)
		}
	}
	for _, f := range h.room.Figures() {
		want := map[string]uint64{"ours": 1, "scanners": 1, "group": 1}[f.Name]
		if f.Matched != want || f.Denied.Total() != map[string]uint64{"scanners": 1}[f.Name] {
			t.Errorf("%+v", f)
		}
	}
}

func TestTheNarrowPolicyLeavesTheWideOne(t *testing.T) {
	h := open(t, policies)
	for k := range 5 {
		a := h.ask("GET", "/v2/export", "203.0.113.7")
		if a.Deny != (k >= 3) || a.By.Rule.Name != "route" || a.Deny && a.Status != 429 {
			t.Fatalf("request %d: %+v", k, a)
		}
	}
	if a := h.ask("GET", "/v2/a", "203.0.113.7"); a.By.Remaining != 6 {
		t.Errorf("%d left for the group after one more, want 6", a.By.Remaining)
	}
}

// Five reported failures, and every way in is denied; the sixth report blocks.
func TestReportsCountFailures(t *testing.T) {
	for _, byTicket := range []bool{true, false} {
		h := open(t, policies)
		for k := range 6 {
			a := h.ask("POST", "/login", "203.0.113.7")
			if a.Deny != (k >= 5) {
				t.Fatalf("attempt %d: %+v", k, a)
			}
			if byTicket && k < 5 {
				if a.Ticket == 0 || !h.report(a.Ticket, 401) || h.report(a.Ticket, 401) {
					t.Fatalf("attempt %d: a ticket is good once: %x", k, a.Ticket)
				}
				continue
			}
			h.fill("POST", "/login", "203.0.113.7", 401)
			b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
			h.s.ReportAgain(&b)
			b.End()
		}
		if a := h.ask("GET", "/token", "203.0.113.7"); !a.Deny {
			t.Error("the other way in is open")
		}
		if a := h.ask("GET", "/token", "203.0.113.8"); a.Deny {
			t.Error("somebody else is denied")
		}
		if late := h.room.Stats(h.now).Late; late != map[bool]uint64{true: 5}[byTicket] {
			t.Errorf("%d late reports", late)
		}
	}
}

// One guess at a time: the count that fills the limit begins the block, later reports neither
// lengthen it nor add a strike, the next block is the longer one, and four failures begin none.
func TestACountThatFillsBlocks(t *testing.T) {
	h := open(t, `rules: []
policies:
  - {name: login, match: {path: /login}, count_when: {path: /login, status: 401}, limit: 5, window: 1m, action: block, block_for: [10m, 1h], retry_spread: 0%, pending: free}
`)
	fail := func(n int) {
		for range n {
			a := h.ask("POST", "/login", "203.0.113.7")
			h.now = h.now.Add(time.Second)
			if a.Deny || !h.report(a.Ticket, 401) {
				t.Fatalf("%+v", a)
			}
		}
	}
	fail(4)
	late := h.ask("POST", "/login", "203.0.113.7")
	if late.Deny {
		t.Fatal("four failures deny")
	}
	fail(1)
	began := h.now
	for k, want := range []time.Duration{10 * time.Minute, time.Hour} {
		a := h.ask("GET", "/login", "203.0.113.7")
		if !a.Deny || a.By.Why != mitigation.ByBlock || a.By.Retry != want {
			t.Fatalf("block %d: %+v %+v", k, a, a.By)
		}
		h.now = h.now.Add(30 * time.Second)
		if k == 0 && !h.report(late.Ticket, 401) {
			t.Error("a report during the block is late")
		}
		if a := h.ask("GET", "/login", "203.0.113.7"); a.By.Retry != want-30*time.Second {
			t.Errorf("a report during block %d makes it end in %v", k, a.By.Retry)
		}
		h.now = began.Add(want + time.Minute)
		fail(5)
		began = h.now
	}
}

func TestAResponseThatDoesNotCount(t *testing.T) {
	h := open(t, policies)
	for range 20 {
		if a := h.ask("POST", "/login", "203.0.113.7"); a.Deny || !h.report(a.Ticket, 200) {
			t.Fatalf("%+v", a)
		}
	}
}

// Reports never come: nothing is counted, and the tickets go.
func TestAProxyThatNeverReports(t *testing.T) {
	edgetest.Alone(t)
	h := open(t, strings.Replace(policies, "block_for: 10m",
		"block_for: 10m\n    pending: free", 1))
	for range 70_000 {
		if a := h.ask("POST", "/login", "203.0.113.7"); a.Deny {
			t.Fatal("denied")
		}
	}
	s := h.room.Stats(h.now)
	if s.Tickets == 0 || s.Tickets > 1<<16 || s.Tickets+s.TicketsDropped != 70_000 {
		t.Errorf("%+v", s)
	}
	if s = h.room.Stats(h.now.Add(2 * time.Minute)); s.Tickets != 0 {
		t.Errorf("%d tickets live after their time", s.Tickets)
	}
}

// reload is policies with another rule, by n, and another set: each n is a generation of its own.
func reload(n int) string {
	return strings.Replace(strings.Replace(policies, "rules: []",
		fmt.Sprintf("rules: [{name: other%d, limit: 1, window: 1s}]", n), 1),
		"192.0.2.0", "192.0.3.0", 1)
}

// Tickets of three earlier generations are good, older ones late. Another set, another limit and a
// policy that asks nothing make no generation.
func TestTicketsAcrossReloads(t *testing.T) {
	h := open(t, policies)
	first, second := h.ask("POST", "/login", "203.0.113.7").Ticket,
		h.ask("POST", "/login", "203.0.113.7").Ticket
	alike := strings.Replace(policies, "192.0.2.0", "192.0.9.0", 1)
	alike = strings.Replace(alike, "limit: 10,", "limit: 11,", 1)
	alike = strings.Replace(alike, "policies:\n",
		"policies:\n  - {name: more, match: {path: /x}, deny: 404}\n", 1)
	for range 10 {
		h.put(h.parse(alike))
		h.put(h.parse(policies))
	}
	for n := range 3 {
		h.put(h.parse(reload(n)))
	}
	if !h.report(first, 401) {
		t.Error("the ticket is late after three generations")
	}
	if n := h.gate.Offered(h.now, []byte("login"), []byte("203.0.113.7")); n != 1 {
		t.Errorf("%d counted, want 1", n)
	}
	h.put(h.parse(reload(3)))
	if h.report(second, 401) {
		t.Error("a ticket is good after four generations")
	}
}

// 300 reloads beside a live ticket: its report is late, whatever the numbers of the policies then,
// and charges no rule.
func TestATicketOutlivesReloads(t *testing.T) {
	h := open(t, policies)
	live := h.ask("POST", "/login", "203.0.113.7").Ticket
	for n := range 300 {
		h.put(h.parse(fmt.Sprintf("rules: [{name: other, limit: 1, window: 1m}, {name: r%d, "+
			"limit: 1, window: 1m}]", n)))
	}
	if h.report(live, 401) {
		t.Fatal("the ticket is good")
	}
	if n := h.gate.Offered(h.now, []byte("other"), []byte("203.0.113.7")); n != 0 {
		t.Errorf("%d counted under another rule", n)
	}
}

// A slow request beside 70,000 quick ones, and beside more that are never reported than there are
// places: it counts, and its lease ends with it; those that end first lose theirs.
func TestASlowTicketBesideManyQuickOnes(t *testing.T) {
	edgetest.Alone(t)
	h := open(t, `rules: []
policies:
  - {name: login, match: {path: "/login/**"}, key: "path:2", count_when: {path: "/login/**", status: 401}, limit: 1000000, window: 1m}
  - {name: slow, match: {path: /login/slow}, kind: concurrency, limit: 1, lease: 1h}
`)
	slow := h.ask("POST", "/login/slow", "203.0.113.7")
	for range 70_000 {
		if a := h.ask("POST", "/login/quick", "203.0.113.7"); a.Deny || !h.report(a.Ticket, 200) {
			t.Fatalf("%+v", a)
		}
	}
	for range 1<<16 + 1000 {
		h.ask("POST", "/login/lost", "203.0.113.7")
	}
	if a := h.ask("POST", "/login/slow", "203.0.113.7"); !a.Deny {
		t.Error("the lease is gone")
	}
	if !h.report(slow.Ticket, 401) ||
		h.gate.Offered(h.now, []byte("login"), []byte("/login/slow")) != 1 {
		t.Error("the slow ticket is gone")
	}
	if a := h.ask("POST", "/login/slow", "203.0.113.7"); a.Deny {
		t.Error("its lease did not end")
	}
	if s := h.room.Stats(h.now); s.TicketsDropped == 0 || s.Tickets != 1<<16 {
		t.Errorf("%+v", s)
	}
}

// An answer that nobody reads: its ticket and its leases end, and nothing of its request is
// counted.
func TestOrphan(t *testing.T) {
	h := open(t, `rules: []
policies:
  - {name: login, match: {path: /login}, count_when: {path: /login, status: 401}, limit: 5, window: 1m}
  - {name: slow, match: {path: "/**"}, kind: concurrency, limit: 1, lease: 1h}
`)
	// a ticket that holds a lease, a lease alone
	for _, path := range []string{"/login", "/other", "/login"} {
		a := h.ask("POST", path, "203.0.113.7")
		if a.Deny || a.Ticket == 0 {
			t.Fatalf("%s: %+v", path, a)
		}
		if !h.room.Orphan(h.now, a.Ticket) || h.room.Orphan(h.now, a.Ticket) ||
			h.report(a.Ticket, 401) {
			t.Errorf("%s: %x ends once", path, a.Ticket)
		}
	}
	if n := h.gate.Offered(h.now, []byte("login"), []byte("203.0.113.7")); n != 0 ||
		h.gate.LeaseStats(h.now).Live != 0 {
		t.Errorf("%d counted, %d leases", n, h.gate.LeaseStats(h.now).Live)
	}
}

func TestDecidingAllocatesNothing(t *testing.T) {
	h := open(t, policies)
	h.ask("GET", "/v2/export", "203.0.113.7")
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	target, client := []byte("/v2/export"), netip.MustParseAddr("203.0.113.7")
	method := []byte("GET")
	if n := testing.AllocsPerRun(100, func() {
		h.s.Begin()
		h.s.Request.Method = method
		h.s.Request.SetTarget(target, h.s.Clients())
		h.s.FindClient(client)
		h.s.Decide(&b, h.now, 7)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

const guesses = `rules: []
policies:
  - {name: login, match: {path: [/login, /token]}, count_when: {path: /login, method: POST, status: 401}, limit: 5, window: 1h, retry_spread: 0%}
`

// 200 guesses at once: as many as the limit pass, the others are denied for what waits, and nobody
// who cannot count.
func TestGuessesAtOnce(t *testing.T) {
	h := open(t, guesses)
	var live []uint64
	for k := range 200 {
		a := h.ask("POST", "/login", "203.0.113.7")
		if a.Deny != (k >= 5) {
			t.Fatalf("guess %d: %+v", k, a)
		}
		if !a.Deny {
			live = append(live, a.Ticket)
			if want := int64(4 - k); a.By.Remaining != want {
				t.Errorf("guess %d: %d left, want %d", k, a.By.Remaining, want)
			}
		} else if a.By.Why != mitigation.ByPending || a.By.Retry != time.Second ||
			a.By.Remaining != 0 || a.Status != 429 {
			t.Fatalf("guess %d: %+v", k, a.By)
		}
	}
	if a := h.ask("GET", "/token", "203.0.113.7"); a.Deny {
		t.Error("a request that cannot count is denied")
	}
	if a := h.ask("POST", "/login", "203.0.113.8"); a.Deny {
		t.Error("another client is denied")
	}
	if n := h.room.Waiting(h.now, []byte("login"), []byte("203.0.113.7")); n != 5 {
		t.Errorf("%d wait", n)
	}
	h.report(live[0], 401) // counts, and its place stays taken
	h.report(live[1], 200) // its place is free
	for k, deny := range []bool{false, true} {
		if a := h.ask("POST", "/login", "203.0.113.7"); a.Deny != deny {
			t.Errorf("guess %d after two reports: %+v", k, a)
		}
	}
	h.report(live[2], 499) // hung up: no response
	if a := h.ask("POST", "/login", "203.0.113.7"); !a.Deny {
		t.Error("who hung up has freed a place")
	}
	if f := h.room.Figures()[0]; f.Denied[mitigation.ByPending] != 197 {
		t.Errorf("%d denied for what waits", f.Denied[mitigation.ByPending])
	}
	h.now = h.now.Add(2 * time.Minute)
	if s := h.room.Stats(h.now); s.Pending != 0 || s.PendingExpired != 5 {
		t.Errorf("after their time: %+v", s)
	}
}

// pending lets more wait, free holds nothing, and so does mode off; a shadow shows.
func TestPendingOptions(t *testing.T) {
	for _, c := range []struct {
		option string
		passes int // of 40 at once
		waits  int64
	}{
		{"pending: 0", 5, 5},
		{"pending: 20", 25, 25},
		{"pending: free", 40, 0},
		{"mode: shadow", 40, 40},
		{"mode: off", 40, 0},
	} {
		h := open(t, strings.Replace(guesses, "limit: 5,", "limit: 5, "+c.option+",", 1))
		passes := 0
		for range 40 {
			if !h.ask("POST", "/login", "203.0.113.7").Deny {
				passes++
			}
		}
		if n := h.room.Waiting(h.now, []byte("login"), []byte("203.0.113.7")); passes != c.passes ||
			n != c.waits {
			t.Errorf("%s: %d pass, %d wait", c.option, passes, n)
		}
	}
}

// A proxy that never reports: after three places that ended by their time the policy holds none,
// until a report.
func TestQuestionsThatAreNeverReported(t *testing.T) {
	h := open(t, guesses)
	var last ask.Answer
	for range 3 {
		last = h.ask("POST", "/login", "203.0.113.7")
	}
	h.now = h.now.Add(2 * time.Minute)
	h.room.Stats(h.now)
	if !h.room.Figures()[0].Unreported {
		t.Error("nobody says so")
	}
	for range 20 {
		if last = h.ask("POST", "/login", "203.0.113.7"); last.Deny {
			t.Fatal("denied")
		}
	}
	if !h.report(last.Ticket, 499) || h.room.Figures()[0].Unreported {
		t.Error("a report changes nothing")
	}
	for k := range 7 {
		if a := h.ask("POST", "/login", "203.0.113.7"); a.Deny != (k >= 5) {
			t.Errorf("guess %d: %+v", k, a)
		}
	}
	h.fill("POST", "/login", "203.0.113.7", 200) // of a reporter without tickets
	b := h.gate.Lane(0).Batch(h.now, rand.Uint64)
	h.s.ReportAgain(&b)
	b.End()
	if a := h.ask("POST", "/login", "203.0.113.7"); a.Deny {
		t.Error("a report without a ticket frees none")
	}
}
