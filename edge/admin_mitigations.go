package edge

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const mitigationsPage = 100 // rows, unless n says otherwise

// listMitigations answers a page of the live flags, ordered by rule and key. The cursor is the last flag
// shown, so that flags that come and go meanwhile neither repeat nor hide others.
func (a *Admin) listMitigations(w http.ResponseWriter, r *http.Request) *problem {
	query, p := adminQuery(r, "rule", "n", "cursor")
	if p != nil {
		return p
	}
	n, p := adminCount(query, mitigationsPage)
	if p != nil {
		return p
	}
	of, p := a.adminRule(query)
	if p != nil {
		return p
	}
	after, p := readCursor(query.Get("cursor"))
	if p != nil {
		return p
	}
	var page MitigationsView
	if p := a.listing(r, func() { page = a.edge.mitigations(a.edge.Now(), of, after, n) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, page)
}

// mitigations returns the first n live flags after the given one (nil: from the start), of one rule (nil:
// of all).
func (e *Edge) mitigations(now window.Instant, of *rule, after *mitigation.Flag, n int) MitigationsView {
	page := MitigationsView{Mitigations: []MitigationView{}}
	short := shortlist[*mitigation.Flag]{n: n, compare: compareFlags}
	left := 0
	e.flags.Each(now, func(f *mitigation.Flag) bool {
		if of != nil && f.Rule != of.Name {
			return true
		}
		page.Total++
		if after != nil && compareFlags(f, after) <= 0 {
			return true
		}
		if left++; short.wants(f) {
			kept := f.Clone()
			short.offer(&kept)
		}
		return true
	})
	rows := short.sorted()
	for _, f := range rows {
		page.Mitigations = append(page.Mitigations, e.viewFlag(now, f))
	}
	if left > len(rows) {
		page.NextCursor = cursorAt(rows[len(rows)-1])
	}
	return page
}

func compareFlags(a, b *mitigation.Flag) int {
	if c := strings.Compare(a.Rule, b.Rule); c != 0 {
		return c
	}
	return bytes.Compare(a.Key, b.Key)
}

// cursorAt returns where to go on after f: no rule's name holds a zero byte.
func cursorAt(f *mitigation.Flag) string {
	return base64.RawURLEncoding.EncodeToString([]byte(f.Rule + "\x00" + string(f.Key)))
}

// readCursor returns the flag that cursorAt wrote down, nil when there is no cursor.
func readCursor(cursor string) (*mitigation.Flag, *problem) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	name, key, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok {
		return nil, badParam("cursor", "must be the next_cursor of an earlier answer")
	}
	return &mitigation.Flag{Rule: name, Key: []byte(key)}, nil
}

// viewFlag shows f, with the offer behind it and the ratio that follows from it as they are now.
func (e *Edge) viewFlag(now window.Instant, f *mitigation.Flag) MitigationView {
	v := MitigationView{
		Rule: f.Rule, Key: EscapeKey(f.Key), Action: f.Action.String(), View: mitigation.Node.String(),
		Source: sourceOf(f), Node: e.saidAt(now, f), Reason: f.Reason, Since: e.shown(f.Since), Expires: e.shown(f.Until),
	}
	if r := e.rules.Load().byName[f.Rule]; r != nil {
		v.Mode, v.Limit, v.View = r.Mode.String(), r.Limit, e.ruleView(r).String()
		v.Offered = r.meter.Offered(now, f.Index)
		v.Ratio = ratioOf(f, v.Offered, v.Limit)
	}
	return v
}

// ratioOf returns the share of what is offered that f has refused: all for a block, and for a shedding
// that the exact count carries out, all beyond the limit.
func ratioOf(f *mitigation.Flag, offered, limit int64) float64 {
	switch {
	case f.Action == mitigation.Block:
		return 1
	case f.Action == mitigation.Allow:
		return 0
	case f.Ratio > 0:
		return f.Ratio.Float()
	}
	return max(0, 1-float64(limit)/float64(max(1, offered)))
}

func sourceOf(f *mitigation.Flag) string {
	switch f.Source {
	case mitigation.Manual:
		return "manual:" + f.Origin
	case mitigation.Ring:
		return "ring"
	case mitigation.Gossip:
		return "gossip:" + f.Origin
	}
	return "self"
}

// shown returns i as people are shown it: finer than a millisecond is noise to them.
func (e *Edge) shown(i window.Instant) time.Time { return e.Wall(i).Truncate(time.Millisecond) }

// setMitigation sets a flag by hand and answers it.
func (a *Admin) setMitigation(w http.ResponseWriter, r *http.Request) *problem {
	if _, p := adminQuery(r); p != nil {
		return p
	}
	var m MitigationRequest
	if p := readMembers(r, map[string]*string{
		"rule": &m.Rule, "key": &m.Key, "shown": &m.Shown, "action": &m.Action, "ttl": &m.TTL, "reason": &m.Reason, "by": &m.By,
	}); p != nil {
		return p
	}
	h, p := m.flag()
	if p != nil {
		return p
	}
	now := a.edge.Now()
	f, err := a.edge.setByHand(now, h)
	switch {
	case errors.Is(err, errNoRule):
		return unknownRule("rule")
	case err != nil:
		return &problem{status: http.StatusServiceUnavailable, parameter: "key", detail: "finds no room among the flags set by hand"}
	}
	a.audit(r, m.Action, "rule", f.Rule, "key", EscapeKey(f.Key), "ttl", h.ttl.String(), "by", h.who, "reason", h.reason)
	return answerJSON(w, http.StatusCreated, a.edge.viewFlag(now, &f))
}

// flag returns the flag m asks for, or what is wrong with it. The rule is looked up later, under the lock.
func (m *MitigationRequest) flag() (handFlag, *problem) {
	h := handFlag{rule: m.Rule, ttl: DefaultTTL, reason: m.Reason}
	var p *problem
	if h.key, p = adminKey(m.Key, m.Shown); p != nil {
		return h, p
	}
	action, ok := mitigation.ParseAction(m.Action)
	if !ok || action == mitigation.Shed {
		return h, badParam("action", "must be block or allow")
	}
	h.action = action
	if m.TTL != "" {
		ttl, err := time.ParseDuration(m.TTL)
		if err != nil || ttl < MinTTL || ttl > MaxTTL {
			return h, badParam("ttl", "must be a duration from 1s to 720h, such as 10m")
		}
		h.ttl = ttl
	}
	if h.who, p = said(m.By, m.Reason); p != nil {
		return h, p
	}
	return h, nil
}

// liftMitigation lifts a flag, on every node. That there was none is an error, for whoever lifts one thinks
// there is; but where there are other nodes one of them may have it, and what is lifted there is not waited for.
func (a *Admin) liftMitigation(w http.ResponseWriter, r *http.Request) *problem {
	in, key, query, p := a.ruleAndKey(r, "by", "reason")
	if p != nil {
		return p
	}
	who, p := said(query.Get("by"), query.Get("reason"))
	if p != nil {
		return p
	}
	lifted, ok := a.edge.liftByHand(a.edge.Now(), in.Name, key, who)
	if !ok {
		return &problem{status: http.StatusNotFound, parameter: "key", detail: "has no flag under this rule"}
	}
	was, source := "no flag here", ""
	if f := &lifted.was; f.Rule != "" {
		was, source = f.Action.String(), sourceOf(f)
	}
	a.audit(r, "lift", "rule", in.Name, "key", EscapeKey(key), "was", was, "source", source, "by", who, "reason", query.Get("reason"))
	w.WriteHeader(http.StatusNoContent)
	return nil
}
