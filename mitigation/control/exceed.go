package control

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// No PoP can verify the reports of another: requests it refused leave no trace elsewhere. Where the
// limit is divided, the influence of a report is limited instead: to its PoP's share, once it
// claims more admissions than that for longer than it takes to learn of the share.

const (
	// patience is the time for which an origin may report more admissions than its share before
	// excess stops counting against the others: a leap passes until the view has arrived.
	patience = 1500 * time.Millisecond
)

// division is an origin's part in the division of the limit, as of the last Step.
type division struct {
	// demand is the cost per second asked of the origin, and passes the admitted part.
	demand, passes float64
	// share is o's part of the limit, cost per second; 0: it is not divided.
	share float64
	// exceeds is the time with reports of more admissions, seconds, up to patience.
	exceeds float64
}

// measure sets the demand of o at wall, Unix time, and the admitted part. In count mode these are
// at least the cost of the trailing window: whoever claims counts claims demand.
func (o *origin) measure(rule *mitigation.Rule, wall time.Duration) {
	o.demand, o.passes = 0, o.report.Admitted
	if o.counts {
		o.demand = o.report.Rate
	}
	if o.counts && !rule.RateMode() {
		in, window := o.totals.Trailing(rule.Window, wall), rule.Window.Seconds()
		o.demand, o.passes = max(o.demand, in.Offered/window), max(o.passes, in.Admitted/window)
	}
}

// exceed notes for elapsed seconds whether o admits more than share, o's part of the limit, cost
// per second; 0: the limit is not divided.
func (o *origin) exceed(elapsed, share float64) {
	o.share = share
	// the excess of admissions over a share within tolerance.
	if share > 0 && o.counts && o.passes > share+max(0.1*share,
		Chance(share, o.report.Over)) {
		o.exceeds = min(o.exceeds+elapsed, patience.Seconds())
		return
	}
	// the number of seconds within the share making good a second above.
	o.exceeds = max(0, o.exceeds-elapsed/4)
}

// admitted returns the admitted rate of o counting against the limit, cost per second.
func (o *origin) admitted() float64 {
	if o.exceeding() {
		return min(o.report.Admitted, o.share)
	}
	return o.report.Admitted
}

// exceeding reports whether o has exceeded the share for longer than the share's way.
func (o *origin) exceeding() bool { return o.share > 0 && o.exceeds >= patience.Seconds() }
