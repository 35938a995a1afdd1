package edge

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// explain answers everything that decides one key now. Nothing is counted.
func (a *Admin) explain(w http.ResponseWriter, r *http.Request) *problem {
	in, key, _, p := a.ruleAndKey(r)
	if p != nil {
		return p
	}
	view, ok := a.edge.explain(a.edge.Now(), in, key)
	if !ok { // a reload took the rule away
		return unknownRule("rule")
	}
	return answerJSON(w, http.StatusOK, view)
}

// explain returns everything that decides key under r at now; false when r is not in force any more.
func (e *Edge) explain(now window.Instant, r *rule, key []byte) (ExplainView, bool) {
	v := ExplainView{
		Rule: r.Name, Key: EscapeKey(key), Now: e.shown(now),
		Mode: r.Mode.String(), Scope: r.Scope.String(), FailureMode: r.FailureMode.String(),
		Limit: r.Limit, Window: r.Window.Seconds(),
	}
	i := r.meter.Index(key)
	c := lifting{rule: r, key: key, now: now, count: r.meter.Peek(now, r.meter.Look(now, i), 1)}
	if flag, ok := e.flags.Find(now, i); ok {
		c.flag = &flag
		shown := e.viewFlag(now, c.flag)
		v.Flag = &shown
	}
	e.explainCount(&v, now, r, key)
	// What a check of cost 1 would be answered, asked as anybody would ask.
	q := wire.Query{Op: wire.Peek, Rule: []byte(r.Name), Key: key, Cost: 1}
	_, v.ViewLost = e.view(r, r.meter.Look(now, i))
	v.World = e.viewKeyWorld(now, r, key)
	c.lost, c.world, c.afar = v.ViewLost, v.World, v.ViewLost && r.world && e.world.lost.Load()
	d := e.Lane(0).Decide(now, rand.Uint64(), q) //nolint:gosec // ChaCha8, seeded by the system
	c.answer, v.View = d.Answer, d.Answer.View.String()
	v.Verdict = mitigation.Allow.String()
	if c.answer.Status == wire.Deny {
		v.Verdict = "deny"
	}
	v.Why, v.Shadow = c.why().String(), c.answer.Shadow
	v.Remaining, v.Reset, v.Retry = c.answer.Remaining, c.answer.Reset, c.answer.Retry
	v.Lifts, v.Sentences = c.words(), c.sentences(&v)
	return v, d.Rule != nil
}

// explainCount says what is counted of key, the sub-windows oldest first.
func (e *Edge) explainCount(v *ExplainView, now window.Instant, r *rule, key []byte) {
	known := r.meter.Evidence(now, r.meter.Index(key))
	v.Estimate, v.ErrorBound, v.Confidence = known.Estimate, known.ErrorBound, known.Confidence
	v.NoiseFloor, v.PromoteAt = known.NoiseFloor, known.PromoteAt
	v.Suspect, v.Admitted, v.Offered = known.Suspect, known.Admitted, known.Offered
	if known.Suspect {
		since := e.shown(known.Since)
		v.SuspectSince = &since
	}
	for _, sub := range slices.Backward(known.SubWindows[:]) {
		v.SubWindows = append(v.SubWindows, SubWindowView{Start: e.shown(sub.Start), Estimate: sub.Estimate})
	}
	v.Ring = e.viewShared(now, known.Shared)
}

// viewShared shows how a key stands with the other nodes; nil when it is not shared.
func (e *Edge) viewShared(now window.Instant, is *window.Shared) *KeyRingView {
	if is == nil || e.pop == nil {
		return nil
	}
	v := &KeyRingView{Server: e.pop.serverName(is.Server), OfferedRate: is.Rate, Untold: is.Untold, Debt: is.Debt}
	if is.Heard != 0 {
		age := max(0, now.Sub(is.Heard)).Seconds()
		v.AgeSeconds = &age
	}
	return v
}

// spanOf returns d in words, in whole seconds rounded up: 0s, 12s, 9m58s, 3h.
func spanOf(d time.Duration) string {
	d = max(0, (d+time.Second-1)/time.Second*time.Second)
	h, m, s := d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second
	text := ""
	for _, part := range [...]struct {
		n    time.Duration
		unit string
	}{{h, "h"}, {m, "m"}, {s, "s"}} {
		if part.n > 0 || part.unit == "s" && text == "" {
			text += decimalOf(int64(part.n)) + part.unit
		}
	}
	return text
}
