package admin

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/sample"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// listMitigations answers a page of the live flags, ordered by rule and key. The cursor is the last
// flag of the page before. Flags coming and going between two pages therefore neither repeat nor
// hide others.
func (a *Door) listMitigations(w http.ResponseWriter, r *http.Request) *api.Problem {
	query, of, n, p := a.listed(r, 100)
	if p != nil {
		return p
	}
	after, p := readCursor(query.Get("cursor"))
	if p != nil {
		return p
	}
	var page api.MitigationsView
	if p := a.listing(r,
		func() { page = mitigations(a.gate, a.gate.Now(), of, after, n) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, page)
}

// mitigations returns the first n live flags after the given flag (nil: from the start), of a rule
// (nil: of all). The table has an order and is never sorted as a whole: the shortlist keeps the
// first n coming by, in memory of n rows.
func mitigations(
	g *gate.Gate, now window.Instant, of *mitigation.Rule, after *mitigation.Flag, n int,
) api.MitigationsView {
	page := api.MitigationsView{Mitigations: []api.MitigationView{}}
	short := newShortlist(n, compareFlags)
	left := 0
	g.EachFlag(now, func(f *mitigation.Flag) bool {
		if of != nil && f.Rule != of.Name {
			return true
		}
		page.Total++
		if after != nil && compareFlags(f, after) <= 0 {
			return true
		}
		// Asked before the copy of the flag, which most need not.
		if left++; short.Wants(f) {
			// Flags visited lie in the table, under the table's lock.
			kept := f.Clone()
			short.Offer(&kept)
		}
		return true
	})
	rows := short.Sorted()
	for _, f := range rows {
		page.Mitigations = append(page.Mitigations, explain.Flag(g, now, f))
	}
	if left > len(rows) {
		page.NextCursor = cursorAt(rows[len(rows)-1])
	}
	return page
}

// compareFlags orders flags by rule and key. The order never changes while a flag lives, the base
// of pages; since or expires would move rows.
func compareFlags(a, b *mitigation.Flag) int {
	if c := strings.Compare(a.Rule, b.Rule); c != 0 {
		return c
	}
	return bytes.Compare(a.Key, b.Key)
}

// cursorAt returns the cursor of the page after f. The two parts are separated by a zero byte,
// which no name of a rule contains. A cursor names a place in the order and not a flag: the flag
// may be gone by the time the next page is asked for.
func cursorAt(f *mitigation.Flag) string {
	return base64.RawURLEncoding.EncodeToString([]byte(f.Rule + "\x00" + string(f.Key)))
}

// readCursor returns the flag cursorAt encoded; nil without a cursor.
func readCursor(cursor string) (*mitigation.Flag, *api.Problem) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	name, key, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok {
		return nil, api.BadParameter("cursor", "must be the next_cursor of an earlier answer")
	}
	return &mitigation.Flag{Rule: name, Key: []byte(key)}, nil
}

// setMitigation sets a flag by hand and answers with the flag.
func (a *Door) setMitigation(w http.ResponseWriter, r *http.Request) *api.Problem {
	var m api.MitigationRequest
	var c sample.Client
	if p := readClient(r, &c, map[string]*string{
		"rule": &m.Rule, "shown": &m.Shown, "action": &m.Action, "ttl": &m.TTL,
		"reason": &m.Reason, "by": &m.By,
	}); p != nil {
		return p
	}
	if m.Key = c.Key; m.Rule == everyRule {
		return a.overrideAll(w, r, &c, &m)
	}
	if len(c.Fields) > 0 {
		return api.BadParameter("rule", `must be "*" where fields are given: POST /v1/who has keys`)
	}
	h, p := flagAsked(&m)
	if p != nil {
		return p
	}
	now := a.gate.Now()
	f, err := a.gate.Override(now, h)
	switch {
	// Looked up under the gate's lock and not before: a reload may come in between.
	case errors.Is(err, gate.ErrNoRule):
		return api.UnknownRule("rule", []byte(m.Rule), a.gate.RuleNames())
	case err != nil:
		return api.NewProblem(http.StatusServiceUnavailable, "key",
			"has no room among the mitigations set by hand")
	}
	a.auditOverride(r, &m, &f, &h)
	return answerJSON(w, http.StatusCreated, explain.Flag(a.gate, now, &f))
}

// auditOverride logs a flag set by hand.
func (a *Door) auditOverride(
	r *http.Request, m *api.MitigationRequest, f *mitigation.Flag, h *gate.ByHand,
) {
	a.audit(r, m.Action, "rule", f.Rule, "key", api.EscapeKey(f.Key), "ttl", h.TTL.String(), "by",
		h.Who, "reason", h.Reason)
}

// flagAsked returns m's flag, or the problem. The gate looks up the rule later, under the table's
// lock.
func flagAsked(m *api.MitigationRequest) (gate.ByHand, *api.Problem) {
	h := gate.ByHand{Rule: m.Rule, Listed: m.Shown != "", TTL: gate.DefaultTTL, Reason: m.Reason}
	var p *api.Problem
	if h.Key, p = adminKey(m.Key, m.Shown); p != nil {
		return h, p
	}
	action, ok := mitigation.ParseAction(m.Action)
	// A ratio is the control loop's to set: by hand a ratio would be overwritten within a second.
	if !ok || action == mitigation.Shed {
		return h, api.BadParameter("action", "must be block or allow")
	}
	h.Action = action
	if m.TTL != "" {
		ttl, err := time.ParseDuration(m.TTL)
		if err != nil || ttl < gate.MinTTL || ttl > gate.MaxTTL {
			return h, api.BadParameter("ttl", "must be a duration from 1s to 720h, such as 10m")
		}
		h.TTL = ttl
	}
	if h.Who, p = claimed(m.By, m.Reason); p != nil {
		return h, p
	}
	return h, nil
}

// heldBy names the network with a mitigation holding key; empty if there is none.
func (a *Door) heldBy(rule string, key []byte) string {
	if network := a.gate.Holder(a.gate.Now(), rule, key); network != nil {
		return "; its network " + api.EscapeKey(network) + " has one: unblock that, or allow " +
			"this key"
	}
	return ""
}

// liftMitigation removes a flag on every node. Without a mitigation the answer is an error, because
// the operator expects a mitigation. Another node may have a mitigation: then the answer is a
// success, without a wait.
func (a *Door) liftMitigation(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	who, p := claimed(query.Get("by"), query.Get("reason"))
	if p != nil {
		return p
	}
	var c sample.Client
	if query.Get("rule") == everyRule && r.ContentLength != 0 {
		if p := readClient(r, &c, nil); p != nil {
			return p
		}
		return a.liftAll(w, r, &c, who, query.Get("reason"))
	}
	key, p := adminKey(query.Get("key"), query.Get("shown"))
	if c.Key = string(key); query.Get("rule") == everyRule && p == nil {
		return a.liftAll(w, r, &c, who, query.Get("reason"))
	}
	in, unknown := a.neededRule(query)
	if unknown != nil {
		return unknown
	}
	if p != nil {
		return p
	}
	lifted, ok := a.gate.Lift(a.gate.Now(), in.Name, key, who)
	if !ok {
		return api.NewProblem(http.StatusNotFound, "key",
			"has no mitigation under this rule"+a.heldBy(in.Name, key))
	}
	a.auditLift(r, &lifted, held{in.Name, string(key)}, who, query.Get("reason"))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// auditLift logs a lifted flag.
func (a *Door) auditLift(r *http.Request, lifted *gate.Lifted, of held, who, reason string) {
	was, source := "no mitigation here", ""
	if f := &lifted.Was; f.Rule != "" {
		was, source = f.Action.String(), explain.SourceOf(f)
	}
	a.audit(r, "lift", "rule", of.rule, "key", api.EscapeKey([]byte(of.key)), "was", was,
		"source", source, "by", who, "reason", reason)
}
