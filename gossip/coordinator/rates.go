package coordinator

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Rates: the part of the control loop's arithmetic that says which change of a rate, or
// of a count, is worth a report, and which ratio follows where counts are missing. It is pure:
// numbers in, numbers out.
//
//	Sample ─► steady ─► smooth ─► small, trigger, grown: report the change?     every node
//	view without counts → ratioOf, count → Advice                 a node that is overloaded,
//	                                                            or has overloaded peers
//
// Requests arrive at random, so a measured rate r, averaged over a time t, has a standard deviation
// of √(r/t). Each function here says how it keeps that chance from denying a client below its
// limit.
//
// Given up: speed. A ratio from rates alone rests on a mean of three windows, so it follows a
// change as slowly.

const (
	// Windows is the time over which a rate is smoothed where rates alone convict, in windows of
	// the rule, beside the window of the rate itself.
	windows = 2
	// leapFactor is by how much a rate rises in a leap.
	leapFactor = 1.25
	// sigmas is the number of standard deviations by which the smoothed global rate must exceed the
	// limit.
	sigmas = 2
)

// trigger returns the change of a rate, cost per second, from which it is reported: beyond chance,
// and large enough to matter among so many PoPs.
//
//	max(4·√(rate/over), 0.03·limit/√PoPs)
//
// The caller takes the maximum with a tenth of the rate.
func trigger(rate float64, over time.Duration, limit float64, pops int) float64 {
	return max(control.Chance(rate, over), 0.03*limit/math.Sqrt(float64(pops)))
}

// theta is the threshold of small parts: a PoP with less of a key than theta of its even share of
// the limit reports each 5 s only, unless a recent view was near the limit. Such PoPs hide at most
// theta·limit in all.
const theta = 0.25

// small reports whether the demand d of a PoP among so many cannot be part of an overload, even if
// all of them had the same.
func small(rule *mitigation.Rule, d *control.Report, pops int) bool {
	share := theta / float64(pops)
	if d.Rate >= share*rule.PerSecond() {
		return false
	}
	if rule.RateMode() {
		return true
	}
	var offered int64
	for n := range d.Totals.By {
		offered += d.Totals.By[n].Offered
	}
	return float64(offered) < share*float64(rule.Quota()) && d.Blocked == 0
}

// newest is totals as far as they still grow: in the running counting period and in the one before.
type newest struct {
	period uint32
	by     [2]struct{ offered, admitted int64 }
}

// newestOf returns the newest of t.
func newestOf(t *window.Totals) (is newest) {
	is.period = t.Period
	for n := range is.by {
		is.by[n].offered, is.by[n].admitted = t.By[n].Offered, t.By[n].Admitted
	}
	return is
}

// at returns the cost that s has of a period.
func (s *newest) at(period uint32) (offered, admitted int64) {
	if n := s.period - period; n < uint32(len(s.by)) {
		return s.by[n].offered, s.by[n].admitted
	}
	return 0, 0
}

// grown reports whether the counts of a period grew from was to is enough to be told: the admitted
// cost by least, or the offered cost by ten times least and a tenth. It returns by how much the
// former did.
func grown(was *newest, is *window.Totals, least int64) (grew int64, ok bool) {
	for n := range was.by {
		now := is.By[n]
		offered, admitted := was.at(is.Period - uint32(n))
		grew = now.Admitted - admitted
		if grew >= least || now.Offered-offered >= 10*least && now.Offered*10 > offered*11 {
			return grew, true
		}
	}
	return 0, false
}

// leaps reports whether the rate rose so much from the report was to d it has not reached its
// height: it is an average, and its last part is below the noise.
func leaps(was *sentReport, d *control.Report) bool { return d.Rate > leapFactor*was.rate }

// moved returns the change between two reports of a key of rule, cost per second, from was to is; 0
// if it may be chance. In rate mode the owner knows the trailing window by the admitted cost, which
// is a small part of a flood: there held against itself, and not against the flood.
//
//	|rate - was|        > max(0.1·was, Trigger)
//	|admitted - was|    the same, in rate mode of admitted alone
func moved(rule *mitigation.Rule, was *sentReport, is *control.Report, pops int) float64 {
	limit := rule.PerSecond()
	change, admitted := math.Abs(is.Rate-was.rate), math.Abs(is.Admitted-was.admitted)
	switch {
	case max(change, admitted) > max(0.1*was.rate, trigger(is.Rate, is.Over, limit, pops)):
		return max(change, admitted)
	case rule.RateMode() && admitted > max(0.1*was.admitted,
		trigger(is.Admitted, is.Over, limit, pops)):
		return admitted
	}
	return 0
}

// beyond reports whether is differs from was by more than the share step of was.
func beyond(was, is, step float64) bool { return math.Abs(is-was) > step*was }

// steady returns rate, cost per second, or the mean of the rule's whole window if rate is more than
// twice that: a burst is a high rate for a moment, and yet no more than its cost. offered is the
// cost offered in the window.
func steady(rule *mitigation.Rule, rate float64, offered int64) float64 {
	if mean := float64(offered) / rule.Window.Seconds(); rate > 2*mean {
		return mean
	}
	return rate
}

// smooth returns the next value of a smoothed rate, cost per second: was, moved towards the
// measured rate, or the measured rate itself where the distance is more than chance. age is the
// time since was, over the time of smoothing, and averaged that of the measurement.
//
//	was + (rate - was)·(1 - e^(-age/over))
func smooth(was, rate float64, age, over, averaged time.Duration) float64 {
	if math.Abs(rate-was) > max(0.05*was, control.Chance(was, averaged)) {
		return rate
	}
	return was + (rate-was)*(1-math.Exp(-age.Seconds()/over.Seconds()))
}

// ratioOf returns the drop ratio of a key without counts: 1 - limit/sum, if sum, the smoothed
// global rate in cost per second, exceeds the rule's limit beyond chance. Chance is two standard
// deviations of an exponential mean of Poisson arrivals at the limit, over three windows:
//
//	sum > limit + 2·√(limit/(2·3·window))
func ratioOf(rule *mitigation.Rule, sum float64) mitigation.Ratio {
	limit := rule.PerSecond()
	over := (1 + windows) * rule.Window.Seconds()
	if sum <= limit+sigmas*math.Sqrt(limit/(2*over)) {
		return 0
	}
	return mitigation.RatioFor(sum, limit)
}

// within returns the drop ratio with which rate, cost per second averaged over over, stays within
// share: 0 if the rate is not above it beyond chance.
//
//	rate > share + 2·√(share/over)
func within(share, rate float64, over time.Duration) mitigation.Ratio {
	if rate <= share+control.Chance(share, over)*sigmas/4 {
		return 0
	}
	return mitigation.RatioFor(rate, share)
}

// count returns the cost a rate, cost per second, offers in the rule's window, at most
// packet.MaxCount.
func count(rule *mitigation.Rule, rate float64) int64 {
	return int64(min(rate*rule.Window.Seconds(), packet.MaxCount))
}
