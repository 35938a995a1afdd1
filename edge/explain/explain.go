package explain

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Standing returns the state of a key over all PoPs at now. It may be called concurrently.
type Standing func(now window.Instant, rule string, key []byte) control.Standing

// Sources are the parts of a node knowing something of a key.
type Sources struct {
	Gate     *gate.Gate
	Ring     func(now window.Instant) pop.Stats // nil: this node is its PoP
	Standing Standing                           // nil: there is no gossip
}

// About is the key asked about, and its rule.
type About struct {
	Rule string
	Key  []byte
	// By is the value of the part by which the rule draws its drop ratio, as a policy makes it: the
	// key is judged for the requests that have it. nil: for a request without the part.
	By []byte
}

// Key returns everything that decides a request of the key and rule in about at now; false when no
// such rule is in force. u is 64 random bits, by which a key shed in part is let pass or refused,
// as in gate.Decide. Nothing is counted. It may be called concurrently. All of it is of the same
// moment: the gate is looked at once, and the sentences are made from that alone.
func Key(from Sources, now window.Instant, u uint64, about About) (api.ExplainView, bool) {
	g, key := from.Gate, about.Key
	var parts *gate.Parts
	if about.By != nil {
		parts = &gate.Parts{ShedBy: about.By}
	}
	is, ok := g.Inspect(now, u, about.Rule, key, parts)
	if !ok {
		return api.ExplainView{}, false
	}
	r := &is.Rule
	v := api.ExplainView{
		Kind: r.Kind.String(), Rule: r.Name, Key: api.EscapeKey(key), Now: g.Shown(now),
		Mode: r.Mode.String(), Scope: r.Scope.String(), FailureMode: r.FailureMode.String(),
		Limit: r.Limit, LimitSource: is.Source, Window: r.Window.Seconds(), ViewLost: is.ViewLost,
		Global: viewGlobal(g, from.Standing, now, &is, key),
		Ring:   viewRing(from.Ring, now, is.Evidence.Shared),
	}
	viewEnds(g, &v, is.Ends)
	if is.Flag != nil { // the sentences take the flag's end as it is shown
		shown := Flag(g, now, is.Flag)
		v.Flag = &shown
	}
	viewCount(g, &v, &is.Evidence)
	c := explanation{Inspection: is, key: key, by: about.By, now: now, global: v.Global}
	c.viewVerdict(&v)
	v.Bucket = c.viewBucket(func() time.Time { return g.Shown(is.Evidence.Full) })
	v.Strikes, v.Reserve, v.Siblings = c.viewStrikes(g), c.viewReserve(), c.viewSiblings()
	v.Blast, v.ShedBy, v.Ladder = c.viewBlast(), c.viewShedBy(g.Shown),
		levels(g, now, u, r.Name, key)
	v.RetrySpread = float64(r.SpreadOf(false)) / mitigation.Whole
	// last: the texts read the rest of the view
	v.LiftedBy, v.Sentences = c.lifts(), c.sentences(&v)
	if r.Kind == mitigation.Concurrency {
		c.viewPlaces(g, &v)
	}
	return v, true
}

// viewEnds fills in when a limit by hand ends.
func viewEnds(g *gate.Gate, v *api.ExplainView, at window.Instant) {
	if at != 0 {
		ends := g.Shown(at)
		v.LimitUntil = &ends
	}
}

// viewVerdict fills in the answer to a request of cost 1.
func (c *explanation) viewVerdict(v *api.ExplainView) {
	d := &c.Decision
	v.View, v.Verdict = d.View.String(), mitigation.Allow.String()
	if d.Deny {
		v.Verdict = "deny"
	}
	v.Why, v.Shadow = c.why().String(), d.Shadow
	v.Remaining, v.Reset, v.Retry = d.Remaining, api.WholeSeconds(d.Reset),
		api.WholeSeconds(d.Retry)
}

// viewCount fills in a key's counts, in units of cost: the sketch's estimate with its error, the
// exact count of a suspect, and the sub-windows of the trailing window, oldest first.
func viewCount(g *gate.Gate, v *api.ExplainView, known *window.Evidence) {
	v.Estimate, v.ErrorBound, v.Confidence = known.Estimate, known.ErrorBound, known.Confidence
	v.NoiseFloor, v.PromoteAt = known.NoiseFloor, known.PromoteAt
	v.Suspect, v.Admitted, v.Offered = known.Suspect, known.Admitted, known.Offered
	if known.Suspect {
		since := g.Shown(known.Since)
		v.SuspectSince = &since
	}
	for _, sub := range slices.Backward(known.SubWindows[:]) {
		v.SubWindows = append(v.SubWindows,
			api.SubWindowView{Start: g.Shown(sub.Start), Estimate: sub.Estimate})
	}
}

// viewRing returns the state of a key's counters on the ring; nil when only this node counts it.
func viewRing(
	ring func(window.Instant) pop.Stats, now window.Instant, is *window.Shared,
) *api.KeyRingView {
	if is == nil || ring == nil {
		return nil
	}
	v := &api.KeyRingView{OfferedRate: is.Rate, Unsent: is.Pending}
	if servers := ring(now).Servers; is.Server >= 0 && is.Server < len(servers) {
		v.Server = servers[is.Server].Address
	}
	if is.Merged != 0 { // else no flush has merged the key yet, and its age is unknown
		age := max(0, now.Sub(is.Merged)).Seconds()
		v.AgeSeconds = &age
	}
	return v
}

// Span renders d in whole seconds, rounded up: 0s, 12s, 9m58s, 3h. A negative d is 0s. Rounded up,
// so nobody who waits for as long comes too early.
func Span(d time.Duration) string {
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
