package admin

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// troubles are the present faults of a node.
type troubles []api.FaultView

// add adds a fault if it is one.
func (t *troubles) add(is bool, code, format string, a ...any) {
	if is {
		*t = append(*t, api.FaultView{Code: code, Text: fmt.Sprintf(format, a...)})
	}
}

// of notes the policy or the rule of the last fault.
func (t *troubles) of(policy, rule string) {
	last := &(*t)[len(*t)-1]
	last.Policy, last.Rule = policy, rule
}

// troubles returns the present faults of the node that v shows; empty if there are none. It is the
// list that /readyz has in a word: each text names the fault in words of the documentation, so
// people can search for the text.
func (w *feed) troubles(now window.Instant, v *api.LiveView, stats *window.Stats) troubles {
	all := troubles{}
	if r := v.Cluster.Ring; r != nil {
		all.ring(r)
	}
	if g := v.Cluster.Gossip; g != nil {
		all.gossip(g)
	}
	_, err := w.gate.LastReload()
	all.add(err != nil, "reload", "the last reload failed, the old rules stay in force")
	flags := w.gate.FlagStats()
	all.add(flags.Flags >= flags.Capacity, "table-full", "the table of mitigations is full")
	all.add(stats.Suspects >= stats.Slots, "slots-full",
		"there is no room to count more keys exactly")
	for _, s := range v.Sketches {
		all.add(
			s.Saturated,
			"sketch-full",
			"the counters of %v windows are too full for good estimates",
			time.Duration(s.Window*float64(time.Second)),
		)
	}
	if w.options.State != nil {
		state := w.options.State(now)
		// the age from which the state on disk is a fault. Written every second.
		all.add(state.Age > (15*time.Second), "state", "the state on disk is %s old",
			explain.Span(state.Age))
		all.add(state.Age < 0 && state.Failures > 0, "state",
			"no state could be written to disk yet")
	}
	w.unreadTroubles(now, &all)
	w.reportTroubles(now, &all)
	for _, more := range w.options.Faults {
		all = append(all, more()...)
	}
	w.sinces.note(w.gate.Shown(now), all)
	return all
}

// ring adds the faults of the ring. A clock differing loses every server at once, so then the only
// fault.
func (t *troubles) ring(v *api.RingView) {
	lost := 0
	for n := range v.Servers {
		if v.Servers[n].Lost {
			lost++
		}
	}
	switch {
	case v.Clock.State == health.ClockApart.String():
		t.add(true, "ring", "this node's clock differs from the ring's: it counts alone")
		return
	case lost == len(v.Servers):
		t.add(true, "ring", "ring lost")
		return
	case v.Clock.State == health.ClockComparing.String():
		t.add(true, "ring", "comparing clocks with the ring: counting alone until then")
	}
	t.add(lost > 0, "ring", "%d of %d servers of the ring lost", lost, len(v.Servers))
}

// gossip adds the faults of the exchange with other PoPs. The likeliest cause is named first: a
// clock or a key differing looks like an empty cluster.
func (t *troubles) gossip(v *api.GossipView) {
	switch {
	case v.Lost:
		t.add(true, "gossip", "other PoPs lost: global rules follow their failure mode")
	case !v.Connected && v.Mismatches.Clock > 0:
		t.add(true, "gossip",
			"no other node is trusted by gossip: clocks are more than a minute apart")
	case !v.Connected:
		t.add(true, "gossip", "no other node answers gossip")
	}
	for _, differ := range []struct {
		members int
		setting string
	}{{v.Mismatches.Ring, "ring servers"}, {v.Mismatches.Rules, "global rules"}, {
		v.Mismatches.Wire,
		"wire version",
	}, {v.Mismatches.Clock, "clocks"}} {
		t.add(differ.members > 0, "gossip", "members with other %s: %d", differ.setting,
			differ.members)
	}
}

// unreadTroubles adds the unread lines, and the rules left out.
func (w *feed) unreadTroubles(now window.Instant, all *troubles) {
	if room := w.options.Requests; room != nil {
		if is := room.LeftOut(); is != nil && now.Sub(is.At) < 10*time.Minute {
			all.add(true, "left-out", "some requests do not ask rule %s, for a request asks at "+
				"most %d rules", is.Rule, gate.MaxQuestions)
			all.of("", is.Rule)
		}
	}
	if w.options.Unread == nil {
		return
	}
	reports, questions := w.options.Unread()
	all.add(reports.Lines > 0, "malformed-reports",
		"%d reports could not be read in the last 10m, so nothing was counted of them: %q",
		reports.Lines, reports.Last)
	all.add(questions.Lines > 0, "malformed-questions",
		"%d questions could not be read in the last 10m, and such requests pass: %q",
		questions.Lines, questions.Last)
}

// mostLost is after how many places ended by leases, in a row, nobody gives places back.
const mostLost = 20

// reportTroubles adds the policies no report reaches, and the rules no place comes back to.
func (w *feed) reportTroubles(now window.Instant, all *troubles) {
	if room := w.options.Requests; room != nil && room.Engine() != nil {
		for i, f := range room.Figures() {
			if i >= room.Engine().Len() || !f.InVain(now) {
				continue
			}
			p, beyond := room.Engine().Policy(i), ""
			if p.Waits() {
				beyond = fmt.Sprintf("; beyond its limit under way it denies for %s",
					explain.Span(room.Keep()))
			}
			all.add(true, "no-reports", "%s counts by the response, and none of its last %d "+
				"requests was reported: nothing is counted%s. headgate init NAME -c FILE writes "+
				"the report", w.placed(i), f.Waiting, beyond)
			all.of(p.Name, "")
		}
	}
	for _, r := range w.gate.PlacesTaken(now) {
		rule := w.gate.Rule([]byte(r.Rule))
		if r.Lost < mostLost || rule == nil {
			continue
		}
		name, policy := "rule "+r.Rule, ""
		if i := w.policyOf(r.Rule); i >= 0 {
			name, policy = w.placed(i), w.options.Requests.Engine().Policy(i).Name
		}
		all.add(true, "leases-expire", "%s: its places end by their lease (%s) alone: in "+
			"effect %d requests in %s", name, explain.Span(rule.Lease), rule.Limit,
			explain.Span(rule.Lease))
		all.of(policy, r.Rule)
	}
}

// policyOf returns the number of the policy whose own rule that is; -1: there is none.
func (w *feed) policyOf(rule string) int {
	if room := w.options.Requests; room != nil && room.Engine() != nil {
		for i := range room.Engine().Len() {
			own := room.Engine().Policy(i).Own
			if slices.ContainsFunc(own, func(r mitigation.Rule) bool { return r.Name == rule }) {
				return i
			}
		}
	}
	return -1
}

// placed says which policy number i is, and where in the file.
func (w *feed) placed(i int) string {
	p := w.options.Requests.Engine().Policy(i)
	return fmt.Sprintf("policy %s (%s:%d)", p.Name, w.options.File, p.At.Line)
}

// sinces keeps since when each fault has been there.
type sinces struct {
	mu    sync.Mutex                  // protects began; no other lock is taken under it
	began map[api.FaultView]time.Time // by code, policy and rule
}

// note sets Since of all, which are the faults at now.
func (s *sinces) note(now time.Time, all troubles) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := map[api.FaultView]time.Time{}
	for i := range all {
		is := api.FaultView{Code: all[i].Code, Policy: all[i].Policy, Rule: all[i].Rule}
		since, known := s.began[is]
		if !known {
			since = now
		}
		began[is], all[i].Since = since, since
	}
	s.began = began
}
