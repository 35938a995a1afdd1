// Package arrivals follows one key's admissions from the node that made them to those that count them as
// others': when they came, at the earliest. It joins the lists of package window/moments to the roles
// of a coordinator.
//
//	Sample ─► Own ─ask─► sum of a PoP's nodes ─report─► sum of all PoPs ─view─► Others ─► parts of what is new, each with a Since
//	node                 reporter                       owner, standby          node
//
// What it gives up: after a clock was set, or a key's counts came from a file, Others goes by sums for two
// counting periods.
package arrivals

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// Own is when this node's own admissions of a key came. Its zero value has none.
type Own struct {
	list  moments.List
	ahead time.Duration // of the clock, as of the last sample
}

// Note takes in the admissions that m's totals now have.
func (o *Own) Note(c moments.Clock, now window.Instant, m *control.Sample) {
	if c.Stepped(o.ahead) {
		o.list = nil
	}
	o.ahead = c.Ahead()
	if c.Runs() && m.Told > 0 && m.ToldFrom != 0 {
		own := moments.List{{Bin: c.Bin(m.ToldFrom), Units: m.Told}}
		o.list = moments.Coarse(moments.Sum(o.list, own), c.Bin(now))
	}
}

// List returns the list to report.
func (o *Own) List() moments.List { return o.list }

// Others is where the admissions of others stand in the log of this node. Its zero value is that of an empty log.
type Others struct {
	placed moments.List
	ahead  time.Duration  // of the clock, as of the last growth
	blind  window.Instant // until then placed lacks some
}

// Blind notes that, until then, the log has admissions of others of which it is not known where they stand.
func (o *Others) Blind(until window.Instant) { o.placed, o.blind = nil, max(o.blind, until) }

// BlindFor returns the end of two counting periods from now, after which all is known that matters.
func BlindFor(c moments.Clock, now window.Instant) window.Instant {
	return c.Instant(c.Bin(now) + 2*moments.Parts)
}

// Place returns fresh, by periods, newest first, in the parts in which the log is to be handed it. known is a list of all
// admissions of others.
func (o *Others) Place(c moments.Clock, now window.Instant, known moments.List, fresh []window.RemoteDelta) []window.RemoteDelta {
	if !c.Runs() || len(fresh) == 0 {
		return fresh
	}
	if c.Stepped(o.ahead) && o.ahead != 0 {
		o.Blind(BlindFor(c, now))
	}
	if o.ahead = c.Ahead(); now < o.blind {
		known = nil
	}
	parts, more := c.Split(now, o.placed, c.Believed(known, now), fresh)
	o.placed = moments.Coarse(moments.Sum(o.placed, more), c.Bin(now))
	return parts
}
