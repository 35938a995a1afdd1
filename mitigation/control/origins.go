package control

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// origin is the last report of a PoP, or of the PoP's nodes counting alone.
type origin struct {
	// name is the PoP's, with "/" appended for the nodes counting alone.
	name string
	// alone is the name of the origin of this PoP's nodes counting alone.
	alone string
	// isAlone: the nodes of a PoP counting alone, and partner is the name of the PoP's other
	// origin.
	isAlone bool
	partner string
	// report is the last report.
	report     Report
	receivedAt window.Instant
	// passed is the admitted rate the trailing window took in last.
	passed float64
	totals window.Totals // by period, the largest value ever reported
	// moments are when admissions in totals came, as of the last Step, byTimes as far as known by
	// counted: totals as of then.
	moments, byTimes moments.List
	counted          window.Totals
	// grown is the cost by which the admitted totals grew since the last Step.
	grown int64

	// asked is the cost by which the offered totals grew of late, and the time of the growth,
	// seconds: both fade over askedOver, as of askedAt.
	asked, during float64
	askedAt       window.Instant

	// counts: the report still counts, as of the last Step.
	counts bool
	division
}

// newOrigin returns the origin called name without a report.
func newOrigin(name string) *origin {
	pop, alone := strings.CutSuffix(name, Alone(""))
	o := &origin{name: name, alone: Alone(name), isAlone: alone, partner: Alone(name)}
	if alone {
		o.partner = pop
	}
	return o
}

// grow raises o's totals to those of a report at now. The first totals are of unknown times, and no
// growth.
func (o *origin) grow(now window.Instant, told *window.Totals) {
	was := o.totals
	grown := o.totals.RaiseAll(told)
	if was.Period == 0 || told.Period == 0 {
		o.asked, o.during, o.askedAt = 0, 0, now
		return
	}
	o.grown += grown
	asked := int64(0)
	for n := range told.By {
		period := told.Period - uint32(n)
		asked += o.totals.At(period).Offered - was.At(period).Offered
	}
	elapsed := now.Sub(o.askedAt).Seconds()
	left := math.Exp(-elapsed / askedOver.Seconds())
	o.asked, o.during, o.askedAt = o.asked*left+float64(asked), o.during*left+elapsed, now
}

// askedOver is the time over which the growth of totals is averaged, some flushes.
const askedOver = 300 * time.Millisecond

// note brings o's moments up to date, if any origin's are told.
func (o *origin) note(now window.Instant, c moments.Clock, told bool) {
	was := o.counted
	if o.counted = o.totals; !told {
		o.moments, o.byTimes = nil, nil
		return
	}
	for _, more := range moments.Growth(&was, &o.totals) {
		o.byTimes = moments.Sum(o.byTimes, c.ByTimes(now, &more))
	}
	o.byTimes = moments.Coarse(o.byTimes, c.Bin(now))
	o.moments = moments.Coarse(moments.Greater(o.byTimes, o.report.Moments), c.Bin(now))
}

// silent reports whether o's last report is too old to stand: older than the TTL, and than
// silentAfter.
func (a *Aggregate) silent(now window.Instant, o *origin) bool {
	age := now.Sub(o.receivedAt)
	if age > max(silentAfter, o.report.TTL) {
		return true
	}
	return age > silentAloneAfter && a.hasAlone(now, o)
}

// hasAlone reports whether nodes of o's PoP have recently reported counting alone.
func (a *Aggregate) hasAlone(now window.Instant, o *origin) bool {
	nodes := a.origins[o.alone]
	return nodes != nil && now.Sub(nodes.receivedAt) <= silentAloneAfter
}

// Alone returns the name of the origin of the nodes of pop counting alone, with the ring lost or
// without a ring.
func Alone(pop string) string { return pop + "/" }

// expired reports whether the counts of a silent origin have left the rule's window.
func (a *Aggregate) expired(now window.Instant, o *origin) bool {
	return now.Sub(o.receivedAt) > a.rule.Window+a.rule.Window/4+silentAfter
}

// forget drops the origins for which is returns true.
func (a *Aggregate) forget(is func(*origin) bool) {
	a.order = slices.DeleteFunc(a.order, func(o *origin) bool {
		if !is(o) {
			return false
		}
		delete(a.origins, o.name)
		return true
	})
}

// Rate returns the rate last reported by the origin called name; 0 for none.
func (a *Aggregate) Rate(name string) float64 {
	if o := a.origins[name]; o != nil {
		return o.report.Rate
	}
	return 0
}

// View returns the answer to the origin called name. An unknown name gets the sum without an echo.
func (a *Aggregate) View(now window.Instant, name string) GlobalView {
	if o := a.origins[name]; o != nil {
		return a.view(now, o)
	}
	v := a.outside(now)
	v.Share = a.shareOf(newOrigin(name))
	return v
}

// outside is the view of an origin without a report.
func (a *Aggregate) outside(now window.Instant) GlobalView {
	return GlobalView{Sum: a.sum, Limit: a.Limit(), Shed: a.shed, Blocked: a.Blocked(now)}
}

// view is View for a known origin: plus the echo of the rate and the totals of the other PoPs.
func (a *Aggregate) view(now window.Instant, o *origin) GlobalView {
	v := a.outside(now)
	v.EchoRate, v.Share = o.report.Rate, a.shareOf(o)
	if a.rule.RateMode() { // the others' counts do not judge it
		return v
	}
	if !o.report.RateOnly { // in the receiver's own counting periods
		v.Others.Period = o.totals.Period
	}
	v.Moments = a.moments
	for _, other := range a.order {
		if other == o || other.name == o.alone || o.name == other.alone {
			v.Moments = v.Moments.Less(other.moments)
			continue
		}
		if (other.report.RateOnly || o.report.RateOnly) && !a.silent(now, other) {
			v.RateOnly += other.report.Rate
		}
		if v.Others.Period != 0 {
			v.Others.Add(&other.totals)
		}
	}
	return v
}

// Part is an origin's part of a key, in the owner's knowledge: a copy for explain and the admin
// pages.
type Part struct {
	// PoP is the origin's PoP.
	PoP string
	// Alone: the sum of the PoP's nodes counting alone.
	Alone bool
	// Rate is the last reported offered rate, cost per second.
	Rate float64
	// Ratio is the drop ratio there, as long as Rate holds.
	Ratio mitigation.Ratio
	// Share is the rate to be admitted there: see GlobalView.Share. 0: the same share of the
	// requests as everywhere.
	Share float64
	// ReportedAt is the time of the last report.
	ReportedAt window.Instant
}

// Parts returns a Part for every origin heard lately, in the order of their first reports.
func (a *Aggregate) Parts(now window.Instant) []Part {
	var all []Part
	for _, o := range a.order {
		if a.silent(now, o) && a.guarded == 0 {
			continue
		}
		pop, alone := strings.CutSuffix(o.name, Alone(""))
		v := a.outside(now)
		v.EchoRate, v.Share = o.report.Rate, a.shareOf(o)
		all = append(all, Part{
			PoP: pop, Alone: alone, Rate: o.report.Rate, ReportedAt: o.receivedAt,
			Ratio: v.Ratio(v.EchoRate, 0), Share: v.Share,
		})
	}
	return all
}
