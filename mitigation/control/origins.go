package control

import (
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// origin is the last report of a PoP, or of those of its nodes that count alone.
type origin struct {
	// name is the PoP's, with "/" appended for its nodes that count alone.
	name string
	// alone is the name of the origin of this PoP's nodes that count alone.
	alone string
	// report is the last report.
	report     Report
	receivedAt window.Instant
	totals     window.Totals // by period, the largest value ever reported
}

// silent reports whether o's last report is too old to stand: older than its TTL, and than
// silentAfter.
func (a *Aggregate) silent(now window.Instant, o *origin) bool {
	age := now.Sub(o.receivedAt)
	if age > max(silentAfter, o.report.TTL) {
		return true
	}
	return age > silentAloneAfter && a.hasAlone(now, o)
}

// hasAlone reports whether nodes of o's PoP have recently reported that they count alone.
func (a *Aggregate) hasAlone(now window.Instant, o *origin) bool {
	nodes := a.origins[o.alone]
	return nodes != nil && now.Sub(nodes.receivedAt) <= silentAloneAfter
}

// Alone returns the name of the origin of those nodes of pop that count alone, because their ring
// is lost or there is none.
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

// View returns the answer to the origin called name. An unknown name gets the sum without an echo.
func (a *Aggregate) View(now window.Instant, name string) GlobalView {
	if o := a.origins[name]; o != nil {
		return a.view(now, o)
	}
	return a.outside(now)
}

// outside is the view of an origin that has reported nothing.
func (a *Aggregate) outside(now window.Instant) GlobalView {
	return GlobalView{Sum: a.sum, Limit: a.Limit(), Shed: a.shed, Blocked: a.Blocked(now)}
}

// view is View for a known origin: it adds the echo of its rate and the totals of the other PoPs.
func (a *Aggregate) view(now window.Instant, o *origin) GlobalView {
	v := a.outside(now)
	v.EchoRate = o.report.Rate
	if a.rule.RateMode() { // the others' counts do not judge it
		return v
	}
	if !o.report.RateOnly { // in the receiver's own counting periods
		v.Others.Period = o.totals.Period
	}
	for _, other := range a.order {
		if other == o || other.name == o.alone || o.name == other.alone {
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

// Part is one origin's part of a key, as its owner knows it: a copy for explain and the admin
// pages.
type Part struct {
	// PoP is the origin's PoP.
	PoP string
	// Alone says that this is the sum of the PoP's nodes that count alone.
	Alone bool
	// Rate is the last reported offered rate, cost per second.
	Rate float64
	// Ratio is the drop ratio there, as long as Rate holds.
	Ratio mitigation.Ratio
	// ReportedAt is the time of the last report.
	ReportedAt window.Instant
}

// Parts returns a Part for every origin that is not silent, in the order of their first reports.
func (a *Aggregate) Parts(now window.Instant) []Part {
	var all []Part
	ratio := a.outside(now).Ratio(0, 0) // with no change since the report
	for _, o := range a.order {
		if a.silent(now, o) && a.guarded == 0 {
			continue
		}
		pop, alone := strings.CutSuffix(o.name, Alone(""))
		all = append(all, Part{PoP: pop, Alone: alone, Rate: o.report.Rate, ReportedAt: o.receivedAt, Ratio: ratio})
	}
	return all
}
