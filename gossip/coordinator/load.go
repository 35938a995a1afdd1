package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// There can be more keys above their limit than the budget can carry counts for. Nodes then send
// rates instead of counts: a rate holds as long as the demand does, and can be refreshed in turn.
// Keys counting would judge are then shed by ratio.
//
//	much is denied → load rises, within a second → counts move in larger steps → overloaded:
//	    rates only
//	nothing is → load falls, in some seconds → counts again; if that fails,
//	    the next try takes longer
//
// The load is package budget's.

// omitsCounts reports whether l's counts are not sent. Blocking rules keep counts: only counts
// block.
func (c *Coordinator) omitsCounts(l *local) bool {
	return c.budget.Overloaded() && l.rule.Action == mitigation.Shed && !l.rule.RateMode()
}

// rateOnly reports whether l, a key in count mode, is shed by rates because counts are missing: the
// node's counts are not sent, or the others' are not.
func (c *Coordinator) rateOnly(l *local) bool {
	return !l.rule.RateMode() && (c.omitsCounts(l) || l.view.RateOnly > 0)
}

// reportTTL is the TTL of a report refreshed after age, the age of the previous report. Under
// overload refreshes come late, and the TTL grows with the last gap.
func (c *Coordinator) reportTTL(every, age time.Duration) time.Duration {
	if c.budget.Overloaded() {
		every = max(every, min(age, maxStretch), minOverloadGap)
	}
	return min(3*every, packet.MaxTTL)
}

// minOverloadGap is the shortest assumed gap between refreshes under overload.
const minOverloadGap = 4 * time.Second

// settleTime is the time over which l's rate is smoothed before a report. Where rates alone convict
// it is long, so chance convicts no key; shorter for a new key. After a leap the rest is no chance.
func (c *Coordinator) settleTime(now window.Instant, l *local) time.Duration {
	if !c.omitsCounts(l) {
		if l.leapt != 0 && now.Sub(l.leapt) < leapFor {
			return leapFor / 5
		}
		return time.Second
	}
	// a new key settles sooner
	return max(time.Second, min(windows*l.rule.Window, maxSettle, now.Sub(l.firstMeasured)/4))
}

// maxSettle bounds the smoothing time.
const maxSettle = 2 * time.Minute
