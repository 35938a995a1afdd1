package coordinator

import (
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

const (
	// viewCountStep is the number of parts of a limit: counts of others that grow by a part are
	// sent at once.
	viewCountStep = 200
	// viewLeftStep is that of the rest of a limit, divided by the number of PoPs, 2 at least. A lag
	// does no harm while more is left, and a budget used up by then carries nothing when it
	// matters.
	viewLeftStep = 100
)

// viewState is a view for a receiver.
type viewState struct {
	control.GlobalView
	// Left is the cost left of the limit, by the counts of all origins: 0 or less, nothing. Inside
	// a PoP it is not known, and 0.
	Left int64
	at   window.Instant
}

// sentView is a view as far as a receiver remembers it; at is the time of the send, 0 for never.
type sentView struct {
	sum, limit, echo, share float64
	others                  newest
	shed, blocked           bool
	at                      window.Instant
}

// sent returns is as a receiver remembers it.
func (is *viewState) sent() sentView {
	return sentView{
		is.Sum, is.Limit, is.EchoRate, is.Share, newestOf(&is.Others),
		is.Shed, is.Blocked > 0, is.at,
	}
}

// stepTerms say by which steps views are sent.
type stepTerms struct {
	Rule *mitigation.Rule
	PoPs int
	// Load is the factor by which the steps grow: see package budget.
	Load float64
	// ByCounts says that the counts alone deny.
	ByCounts bool
}

// differs reports whether a receiver with a view is to be sent the other.
func (has *sentView) differs(is *viewState, t stepTerms) bool {
	return has.demandDiffers(is, t) || has.countsDiffer(is, t)
}

// demandDiffers is differs for the rates. They can wait where counts alone deny, and far from the
// limit.
func (has *sentView) demandDiffers(is *viewState, t stepTerms) bool {
	// the relative change of a rate from which a view is sent at once.
	step := 0.02 * t.Load
	switch {
	case t.ByCounts && is.Others.Period != 0 && is.RateOnly == 0:
		return false
	case has.shed != is.Shed:
		return true
	case max(is.Sum, has.sum) <= 0.5*is.Limit:
		return false
	case beyond(has.sum, is.Sum, step), beyond(has.limit, is.Limit, step),
		beyond(has.echo, is.EchoRate, 5*step):
		return true
	case (has.share > 0) != (is.Share > 0) && is.EchoRate > 0:
		return true
	}
	return is.EchoRate > 0.5*is.Share && beyond(has.share, is.Share, step)
}

// countsDiffer is differs for the counts. Where they alone deny, a receiver lacks at most half of
// the rest:
//
//	lacks >= max(limit/viewCountStep, left·min(PoPs/viewLeftStep, 1/2))
//
// It is told once, at once, that nothing is left.
func (has *sentView) countsDiffer(is *viewState, t stepTerms) bool {
	step := float64(t.Rule.Quota()) / viewCountStep
	if t.ByCounts {
		if is.Left <= 0 && is.Left+lacks(&has.others, &is.Others) > 0 {
			return true
		}
		step = max(step, float64(is.Left)*min(float64(t.PoPs)/viewLeftStep, 0.5))
	}
	_, grown := grown(&has.others, &is.Others, max(1, int64(t.Load*step)))
	return grown
}

// lacks returns the cost admitted in is, and not in has.
func lacks(has *newest, is *window.Totals) (admitted int64) {
	for n := range has.by {
		_, had := has.at(is.Period - uint32(n))
		admitted += max(0, is.By[n].Admitted-had)
	}
	return admitted
}
