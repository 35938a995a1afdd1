package coordinator

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// There can be more keys above their limit than the budget can carry counts for. Nodes then send
// rates instead of counts: a rate holds as long as the demand does, and can be refreshed in turn.
// Keys that counts would judge are then shed by ratio.
//
//	much is denied ──► load rises, within a second ─► counts move in larger steps ─► overloaded: rates only
//	nothing is ──────► load falls, in some seconds ─► counts again; if that fails, the next try takes longer
//
//	load' = load·1.2 per tick while denied > 0.1 of the rate, at most 8
//	load' = load·e^(-elapsed/loadDecay) while nothing is denied, at least 1

const (
	// overloadAt is the load from which counts are not sent.
	overloadAt = 8.0
	// reliefAt is the load below which they are sent again.
	reliefAt = 2.0

	// loadUp is the factor of load in a tick in which much was denied.
	loadUp = 1.2
	// deniedShare is the share of the budget that, when denied, raises the load.
	deniedShare = 0.1
	// loadDecay is the time in which load falls to 1/e while nothing is denied.
	loadDecay = 5 * time.Second
	// loadDecaySlow replaces it after counts were tried too soon.
	loadDecaySlow = 25 * time.Second
	// tooSoon is the time after the end of an overload in which the next one counts as too soon.
	tooSoon = 15 * time.Second
)

// adjust moves the load by the bytes denied since the last tick.
func (c *Coordinator) adjust(now window.Instant) {
	past := now.Sub(c.budget.filled)
	switch {
	case c.budget.denied > deniedShare*c.budget.rate*past.Seconds():
		c.load = min(c.load*loadUp, overloadAt)
	case c.budget.denied == 0:
		c.load = max(c.load*math.Exp(-past.Seconds()/c.loadDecay.Seconds()), 1)
	}
	switch {
	case c.load >= overloadAt && !c.overloaded:
		c.overloaded, c.loadDecay = true, loadDecay
		if c.relieved != 0 && now.Sub(c.relieved) < tooSoon {
			c.loadDecay = loadDecaySlow
		}
	case c.load <= reliefAt && c.overloaded:
		c.overloaded, c.relieved = false, now
	}
}

// omitsCounts reports whether l's counts are not sent. Rules that block keep theirs: only counts
// block.
func (c *Coordinator) omitsCounts(l *local) bool {
	return c.overloaded && l.rule.Action == mitigation.Shed && !l.rule.RateMode()
}

// steady returns m's rate, or the mean of the whole window if the rate is far above it: a burst is
// a high rate for a moment, and yet no more than its cost.
func (l *local) steady(m *Sample) float64 {
	if mean := float64(m.Offered) / l.rule.Window.Seconds(); m.Report.Rate > 2*mean {
		return mean
	}
	return m.Report.Rate
}

// rateOnly reports whether l, a key in count mode, is shed by rates because counts are missing: its
// own are not sent, or those of others are not.
func (c *Coordinator) rateOnly(l *local) bool {
	return !l.rule.RateMode() && (c.omitsCounts(l) || l.view.RateOnly > 0)
}

// reportTTL is the TTL of a report that is refreshed every so often; age is that of the previous
// one. Under overload refreshes come late, and the TTL grows with the last gap.
func (c *Coordinator) reportTTL(every, age time.Duration) time.Duration {
	if c.overloaded {
		every = max(every, min(age, maxStretch), minOverloadGap)
	}
	return min(3*every, maxTTL)
}

// minOverloadGap is the shortest assumed gap between refreshes under overload.
const minOverloadGap = 4 * time.Second

// settleTime is the time over which l's rate is smoothed before it is sent. Where rates alone
// convict it is long, so that chance convicts nobody; it is shorter for a key that is new.
func (c *Coordinator) settleTime(now window.Instant, l *local) time.Duration {
	if !c.omitsCounts(l) {
		return time.Second
	}
	return max(time.Second, min(rateOnlyWindows*l.rule.Window, maxSettle, now.Sub(l.firstMeasured)/4)) // a new key settles sooner
}

const (
	// rateOnlyWindows is the smoothing time in windows, beside the window of the rate itself.
	rateOnlyWindows = 2
	// maxSettle bounds the smoothing time.
	maxSettle = 2 * time.Minute
	// rateOnlySigmas is the number of standard deviations by which the smoothed global rate must
	// exceed the limit.
	rateOnlySigmas = 2
)

// byRate is the ratio of a key without counts: 1 - limit/sum, if the sum exceeds the limit beyond
// chance.
func (l *local) byRate() mitigation.Ratio {
	limit := l.rule.PerSecond()
	over := (1 + rateOnlyWindows) * l.rule.Window.Seconds()
	if l.view.Sum <= limit+rateOnlySigmas*math.Sqrt(limit/(2*over)) { // σ of an exponential mean of Poisson arrivals
		return 0
	}
	return mitigation.RatioFor(l.view.Sum, limit)
}

// rateTTL is the life of a ratio that follows from rates: one window, at most maxStretch.
func (l *local) rateTTL() time.Duration { return min(l.rule.Window, maxStretch) }

// rateOnlyCount estimates the cost that other PoPs were offered in l's window and report as a rate
// only.
func (l *local) rateOnlyCount() int64 {
	return int64(min(l.view.RateOnly*l.rule.Window.Seconds(), maxCount))
}
