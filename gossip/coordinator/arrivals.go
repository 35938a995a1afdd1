package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// Arrivals follow a key's admissions from the admitting node to the nodes counting them as
// others': the earliest times. The package joins the lists of package window/moments to the roles
// of a coordinator.
//
//	Sample → own ─ask─► sum of a PoP's nodes ─report─► sum of all PoPs ─view─► others → parts
//	    of what is new, each with a Since
//	node                 reporter                       owner, standby          node
//
// others remembers two counting periods in fine bins, known and placed: at most 1,024 lumps of 16
// bytes each, and no more than there were admissions. A key at a limit of 600 a minute has up to
// 240 of each, 8 KiB.
//
// Given up: after a clock was set, or a key's counts came from a file, others goes by sums until
// the begun counting periods are over.

// own is when this node's own admissions of a key came. Its zero value has none.
type own struct {
	list  moments.List
	ahead time.Duration // of the clock, as of the last sample
}

// Note takes in the admissions new in m's totals.
func (o *own) Note(c moments.Clock, now window.Instant, m *control.Sample) {
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
func (o *own) List() moments.List { return o.list }

// others is where the admissions of others stand in the log of this node. The zero value is for an
// empty log.
type others struct {
	// known is the most said by any list. Owners take turns who lack different admissions, and
	// older lumps are told in coarser bins: an earlier report is as true as the latest.
	known, placed moments.List
	ahead         time.Duration // of the clock, as of the last growth
	blind         uint32        // the newest counting period of which placed lacks some
}

// Blind notes that the log has admissions of others, up to that counting period, at unknown places.
func (o *others) Blind(period uint32) {
	o.known, o.placed, o.blind = nil, nil, max(o.blind, period)
}

// Place returns fresh, by periods, newest first, in the parts for the log. known is a list of all
// admissions of others. A period without a list, or partly missing in placed, is placed by the
// times of the total.
func (o *others) Place(
	c moments.Clock, now window.Instant, known moments.List, fresh []window.RemoteDelta,
) []window.RemoteDelta {
	if !c.Runs() || len(fresh) == 0 {
		return fresh
	}
	bin := c.Bin(now)
	if c.Stepped(o.ahead) && o.ahead != 0 {
		o.Blind(moments.Period(bin) + 1)
	}
	o.ahead = c.Ahead()
	o.known = moments.Greater(o.known, c.Believed(known, now)).Since(moments.Oldest(bin))
	var parts []window.RemoteDelta
	for n := range fresh {
		parts = append(parts, o.place(c, bin, &fresh[n])...)
	}
	o.placed = o.placed.Since(moments.Oldest(bin))
	return parts
}

// place is Place of a period. Cost without an exact time counts as placed as late as possible.
func (o *others) place(
	c moments.Clock, now moments.Bin, fresh *window.RemoteDelta,
) []window.RemoteDelta {
	known := o.known.Of(fresh.Period)
	if fresh.Period <= o.blind || len(known) == 0 {
		latest := min(now, moments.Begin(fresh.Period)+moments.Parts-1)
		o.placed = moments.Sum(o.placed, moments.List{{Bin: latest, Units: fresh.Admitted}})
		return []window.RemoteDelta{*fresh}
	}
	parts, more := c.Split(o.placed.Of(fresh.Period), known, fresh)
	o.placed = moments.Sum(o.placed, more)
	return parts
}
