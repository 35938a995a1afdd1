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

// viewState is the state that a receiver of views has, or is to have.
type viewState struct {
	control.GlobalView
	// Left is the cost left of the limit, by the counts of all origins: 0 or less, nothing. Inside
	// a PoP it is not known, and 0.
	Left int64
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

// Differs reports whether a receiver with a view is to be sent the other.
func (has *viewState) Differs(is *viewState, t stepTerms) bool {
	return has.demandDiffers(is, t) || has.countsDiffer(is, t)
}

// demandDiffers is Differs for the rates. They can wait where counts alone deny, and far from the
// limit.
func (has *viewState) demandDiffers(is *viewState, t stepTerms) bool {
	// the relative change of a rate from which a view is sent at once.
	step := 0.02 * t.Load
	switch {
	case t.ByCounts && is.Others.Period != 0 && is.RateOnly == 0:
		return false
	case has.Shed != is.Shed:
		return true
	case max(is.Sum, has.Sum) <= 0.5*is.Limit:
		return false
	case beyond(has.Sum, is.Sum, step), beyond(has.Limit, is.Limit, step),
		beyond(has.EchoRate, is.EchoRate, 5*step):
		return true
	case (has.Share > 0) != (is.Share > 0) && is.EchoRate > 0:
		return true
	}
	return is.EchoRate > 0.5*is.Share && beyond(has.Share, is.Share, step)
}

// countsDiffer is Differs for the counts. Where they alone deny, a receiver lacks at most half of
// the rest:
//
//	lacks >= max(limit/viewCountStep, left·min(PoPs/viewLeftStep, 1/2))
//
// It is told once, at once, that nothing is left.
func (has *viewState) countsDiffer(is *viewState, t stepTerms) bool {
	step := float64(t.Rule.Quota()) / viewCountStep
	if t.ByCounts {
		if is.Left <= 0 && is.Left+lacks(&has.Others, &is.Others) > 0 {
			return true
		}
		step = max(step, float64(is.Left)*min(float64(t.PoPs)/viewLeftStep, 0.5))
	}
	_, grown := grown(&has.Others, &is.Others, max(1, int64(t.Load*step)))
	return grown
}

// lacks returns the cost admitted by a, and not by b.
func lacks(has, is *window.Totals) (admitted int64) {
	for n := range is.By {
		admitted += max(0, is.By[n].Admitted-has.At(is.Period-uint32(n)).Admitted)
	}
	return admitted
}
