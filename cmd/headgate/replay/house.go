package replay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// errNoPolicies ends a replay of missing policies.
var errNoPolicies = errors.New("--policies: the configuration has no policies")

// byPolicy is the ground of a denial a policy makes by itself, behind those of rules.
const byPolicy = mitigation.ByCost + 1

// house asks a node's policies about whole requests, like the doors.
//
//	line of the log ─► request ─► policies ─► all questions in one step ─► answer
//	     └─ its end and its status ─► ticket: what counts by the response, and places
type house struct {
	node
	room    *ask.Room
	session *ask.Session
	draw    *rand.Rand
}

// openHouse makes a node under cfg beginning at start.
func openHouse(cfg config.Config, start time.Time, draw *rand.Rand) (*house, error) {
	engine, err := config.LoadPolicies(&cfg, [32]byte{})
	if err != nil {
		return nil, err
	}
	if engine == nil || engine.Len() == 0 {
		return nil, errNoPolicies
	}
	g, err := edge.NewGate(cfg, start)
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	h := &house{node: node{g, g.Lane(0)}, room: ask.New(g, ask.TicketBytes), draw: draw}
	h.room.SetPools(cfg.Pools)
	rules := cfg.AllRules()
	engine.Numbered(rules)
	g.SetRules(rules)
	h.room.Set(engine, rules, cfg.TicketKeep)
	h.session = h.room.NewSession()
	return h, nil
}

// ask decides a request of the log at now. The lease of the decision is the ticket of its response.
// A log has the method, the path and the client of a request: whatever looks at more of it finds
// nothing.
func (h *house) ask(now window.Instant, rec *accesslog.Record) gate.Decision {
	s := h.session
	s.Begin()
	s.CanWait = true
	s.Request.Method = append(s.Request.Method[:0], rec.Method...)
	s.Request.SetTarget(rec.Path, s.Clients())
	client, _ := netip.ParseAddr(string(rec.Client)) // a name is no client
	s.FindClient(client)
	b := h.lane.Batch(now, h.draw.Uint64)
	defer b.End()
	a := s.Decide(&b, now, h.draw.Uint64())
	d := gate.Decision{Deny: a.Deny, Delay: a.Delay, Lease: a.Ticket}
	switch {
	case a.Why == ask.ByPolicy:
		d.Why = byPolicy
	case a.By != nil && a.Deny:
		d.Why = a.By.Why
	}
	return d
}

// report ends the ticket of a request whose response had status.
func (h *house) report(now window.Instant, ticket uint64, status int) {
	h.session.Begin()
	h.session.Request.Status = status
	b := h.lane.Batch(now, h.draw.Uint64)
	defer b.End()
	h.session.Report(&b, now, ticket) // a late one counts nothing
}

// replayPolicy counts the decisions of a policy.
type replayPolicy struct {
	Name    string `json:"name"`
	Matched uint64 `json:"matched"`
	Denied  uint64 `json:"denied"`
	Shadow  uint64 `json:"shadow_denied,omitempty"`
}

// replayAsked counts the questions and the denials of a rule.
type replayAsked struct {
	Name     string     `json:"name"`
	Limit    api.Amount `json:"limit"`
	Offered  api.Amount `json:"offered"` // cost
	Denied   api.Amount `json:"denied"`  // cost
	Shadow   api.Amount `json:"shadow_denied,omitempty"`
	Siblings int        `json:"siblings,omitempty"` // narrower keys that must ask
}

// figures returns the counts of the policies and the rules.
func (h *house) figures() (policies []replayPolicy, rules []replayAsked) {
	for _, f := range h.room.Figures() {
		policies = append(policies, replayPolicy{f.Name, f.Matched, f.Denied.Total(), f.Shadow})
	}
	for _, f := range h.Figures() {
		if f.Totals.Offered() == 0 { // no policy asked it
			continue
		}
		in := func(parts uint64) api.Amount { return api.Amount(f.Units(int64(parts))) }
		rules = append(rules, replayAsked{
			f.Name, in(uint64(f.Quota())), in(f.Totals.Offered()), in(f.Totals.Refused()),
			in(f.Totals.Cost[gate.OutcomeShadowed]), f.Siblings,
		})
	}
	return policies, rules
}

// waitsForEnds reports whether a rule counts requests under way, and the longest of the leases.
func waitsForEnds(rules []mitigation.Rule) (longest time.Duration, waits bool) {
	for i := range rules {
		if rules[i].Kind == mitigation.Concurrency {
			longest, waits = max(longest, rules[i].Lease), true
		}
	}
	return longest, waits
}

// everywhere makes all rules of cfg this node's own.
func everywhere(cfg *config.Config) {
	cfg.Rules, cfg.Policies.Policies = slices.Clone(cfg.Rules), slices.Clone(cfg.Policies.Policies)
	for i := range cfg.Rules {
		cfg.Rules[i].Scope = mitigation.Node
	}
	for p := range cfg.Policies.Policies {
		own := slices.Clone(cfg.Policies.Policies[p].Own)
		for i := range own {
			own[i].Scope = mitigation.Node
		}
		cfg.Policies.Policies[p].Own = own
	}
}
