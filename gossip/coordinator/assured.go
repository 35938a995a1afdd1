package coordinator

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// In count mode the counts of other PoPs deny here: the first to ask are the first to be served.
// While the limit is divided among the PoPs, the assurance ends after a window:
//
//	ratio            1 - share/own rate: each PoP keeps to its share
//	others' counts   believed up to limit - share, by a PoP that asks for about its share
//
// By then the others have made room for the share, unless the others admit more than their shares,
// or claim to: such reports deny nothing within the share.

const (
	// asksFor is the demand, in shares, up to which a share is assured. Where a PoP asks for much
	// more, a PoP gets a part of a limit by asking more often than the others; were each such PoP
	// assured of a share too, all together would be late to make room.
	asksFor = 2
	// makesRoom is the time after the division in which a PoP that falls to its share gives up no
	// more than the others have taken. For longer it would take room left free by chance.
	makesRoom = 500 * time.Millisecond
	// divisionGap is the time without shares after which the limit is no longer divided.
	divisionGap = time.Second
)

// noteDivision records since when the limit of l's key is divided.
func (l *local) noteDivision(now window.Instant) {
	switch {
	case l.view.Share > 0:
		if l.dividedAt == 0 {
			l.dividedAt = now
		}
		l.dividedUntil = now
	case now.Sub(l.dividedUntil) > divisionGap:
		l.dividedAt = 0
	}
}

// divided reports whether the limit of l's key, in count mode, has been divided for long enough.
func (c *Coordinator) divided(now window.Instant, l *local) bool {
	return !l.rule.RateMode() && l.view.Share > 0 && l.dividedAt != 0 &&
		now.Sub(l.dividedAt) > l.rule.Window+control.AssuredAfter
}

// assured reports whether l's share is assured.
func (c *Coordinator) assured(now window.Instant, l *local) bool {
	if !c.divided(now, l) {
		return false
	}
	// nothing is known of the PoP since
	own := l.seen.Trailing(l.rule.Window, time.Duration(l.measured)+c.peers.Ahead())
	return max(own.Offered/l.rule.Window.Seconds(), l.report.Rate) <= asksFor*l.view.Share
}

// countRatio returns the drop ratio of l's key in count mode.
func (c *Coordinator) countRatio(now window.Instant, l *local) mitigation.Ratio {
	switch {
	case c.divided(now, l):
		part := l.view.Share
		if now.Sub(l.dividedAt) < l.rule.Window+control.AssuredAfter+makesRoom {
			part = max(part, c.left(now, l)/l.rule.Window.Seconds())
		}
		return within(part*l.rule.Open(), l.report.Rate, l.report.Over)
	case c.rateOnly(l):
		return ratioOf(&l.rule.Rule, l.view.Sum/l.rule.Open())
	}
	v := l.view
	v.Share = 0 // first come, first served
	lag := 3*c.o.Flush + c.o.Batch
	return control.PaceFor(&l.rule.Rule, lag/2).Global(v, l.report.Rate, l.report.Over)
}

// left returns the limit of l's key less the admissions of other PoPs in the window.
func (c *Coordinator) left(now window.Instant, l *local) float64 {
	in := l.merged.Trailing(l.rule.Window, time.Duration(now)+c.peers.Ahead())
	return float64(l.rule.Limit) - in.Admitted
}

// room returns how much more offered and admitted cost of other PoPs is believed in the window of
// l's key. Demand beyond their shares never denies here; their admissions do unless l's share is
// assured.
func (c *Coordinator) room(now window.Instant, l *local) (all room) {
	if all = anyRoom; !c.divided(now, l) {
		return all
	}
	most := float64(l.rule.Limit) - l.view.Share*l.rule.Window.Seconds()
	in := l.merged.Trailing(l.rule.Window, time.Duration(now)+c.peers.Ahead())
	all.Offered = int64(math.Ceil(max(0, most-in.Offered)))
	if c.assured(now, l) {
		all.Admitted = int64(math.Ceil(max(0, most-in.Admitted)))
	}
	return all
}
