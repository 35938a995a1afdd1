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
	in, key, p := a.ruleAndKey(r)
	if p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, a.edge.explain(a.edge.Now(), in, key))
}

func (e *Edge) explain(now window.Instant, r *rule, key []byte) ExplainView {
	v := ExplainView{
		Rule: r.Name, Key: EscapeKey(key), Now: e.shown(now), View: mitigation.Node.String(),
		Mode: r.Mode.String(), Scope: r.Scope.String(), FailureMode: r.FailureMode.String(),
		Limit: r.Limit, Window: r.Window.Seconds(),
	}
	flag, flagged := e.flags.Find(now, r.meter.Index(key))
	if flagged {
		shown := e.viewFlag(now, &flag)
		v.Flag = &shown
	}
	e.explainCount(&v, now, r, key)
	c := lifting{rule: r, key: key, now: now, left: r.Limit}
	if flagged {
		c.flag = &flag
	}
	e.explainVerdict(&v, &c)
	return v
}

// explainVerdict says what a check of cost 1 would be answered, by the path that a peek takes, and what
// would change it.
func (e *Edge) explainVerdict(v *ExplainView, c *lifting) {
	q := wire.Query{Op: wire.Peek, Rule: []byte(c.rule.Name), Key: c.key, Cost: 1}
	answer := wire.Answer{Remaining: c.rule.Limit}
	if c.rule.Mode != mitigation.Off {
		c.found = e.Lane(0).peek(c.rule, c.now, rand.Uint64(), q) //nolint:gosec // ChaCha8, seeded by the system
		answer = c.rule.answer(c.found)
	}
	v.Verdict, v.Why = mitigation.Allow.String(), c.found.why.String()
	if answer.Status == wire.Deny {
		v.Verdict = "deny"
	}
	v.Shadow = answer.Shadow
	v.Remaining, v.Reset, v.Retry = answer.Remaining, answer.Reset, answer.Retry
	c.left = answer.Remaining
	v.Lifts = c.words()
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
