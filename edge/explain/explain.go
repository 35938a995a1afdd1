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
		Limit: Amount(r, r.Limit), Unit: r.Unit, LimitSource: is.Source, ViewLost: is.ViewLost,
		Window: r.Window.Seconds(), Global: viewGlobal(g, from.Standing, now, &is, key),
		Ring: viewRing(from.Ring, now, r, is.Evidence.Shared),
	}
	viewEnds(g, &v, is.Ends)
	if is.Flag != nil { // the sentences take the flag's end as it is shown
		shown := Flag(g, now, is.Flag)
		v.Flag = &shown
	}
	viewCount(g, &v, r, &is.Evidence)
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

// Amount returns parts of r's unit as people read cost.
func Amount(r *mitigation.Rule, parts int64) api.Amount { return api.Amount(r.Units(parts)) }

func (c *explanation) amount(parts int64) api.Amount { return Amount(&c.Rule, parts) }

// viewVerdict fills in the answer to a request of cost 1.
func (c *explanation) viewVerdict(v *api.ExplainView) {
	d := &c.Decision
	v.View, v.Verdict = d.View.String(), mitigation.Allow.String()
	if d.Deny {
		v.Verdict = "deny"
	}
	v.Why, v.Shadow = c.why().String(), d.Shadow
	v.Remaining, v.Reset, v.Retry = c.amount(d.Remaining), api.WholeSeconds(d.Reset),
		api.WholeSeconds(d.Retry)
}

// viewCount fills in a key's counts, in units of cost: the sketch's estimate with its error, the
// exact count of a suspect, and the sub-windows of the trailing window, oldest first.
func viewCount(
	g *gate.Gate, v *api.ExplainView, r *mitigation.Rule, known *window.Evidence,
) {
	unit := float64(r.Parts())
	v.Estimate, v.ErrorBound = Amount(r, known.Estimate), known.ErrorBound/unit
	v.Confidence, v.NoiseFloor = known.Confidence, known.NoiseFloor/unit
	v.PromoteAt, v.Suspect = known.PromoteAt/unit, known.Suspect
	v.Admitted, v.Offered = Amount(r, known.Admitted), Amount(r, known.Offered)
	if known.Suspect {
		since := g.Shown(known.Since)
		v.SuspectSince = &since
	}
	for _, sub := range slices.Backward(known.SubWindows[:]) {
		v.SubWindows = append(v.SubWindows,
			api.SubWindowView{Start: g.Shown(sub.Start), Estimate: Amount(r, sub.Estimate)})
	}
}

// viewRing returns the state of a key's counters on the ring; nil when only this node counts it.
func viewRing(
	ring func(window.Instant) pop.Stats, now window.Instant, r *mitigation.Rule, is *window.Shared,
) *api.KeyRingView {
	if is == nil || ring == nil {
		return nil
	}
	v := &api.KeyRingView{
		OfferedRate: is.Rate / float64(r.Parts()), Unsent: Amount(r, is.Pending),
	}
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
