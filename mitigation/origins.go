package mitigation

import (
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/window"
)

// origin is the last that was heard of a PoP, or of those of its nodes that count alone.
type origin struct {
	name   string
	alone  string // what the nodes of this PoP that count alone are called
	demand Demand
	heard  window.Instant
	totals window.Totals // the most that was ever told of each period
}

// silent reports whether nothing was heard of an origin for longer than its last demand is to be believed.
func (a *Account) silent(now window.Instant, o *origin) bool {
	age := now.Sub(o.heard)
	if age > max(silence, o.demand.Hold) {
		return true
	}
	return age > aloneAfter && a.hasAlone(now, o)
}

// hasAlone reports whether nodes of the PoP o count alone of late.
func (a *Account) hasAlone(now window.Instant, o *origin) bool {
	nodes := a.origins[o.alone]
	return nodes != nil && now.Sub(nodes.heard) <= aloneAfter
}

// Alone returns the name of the origin that those nodes of pop are which count alone, because their ring is lost or there
// is none.
func Alone(pop string) string { return pop + "/" }

// past reports whether the counts of an origin that says nothing do not matter any more.
func (a *Account) past(now window.Instant, o *origin) bool {
	return now.Sub(o.heard) > a.rule.Window+a.rule.Window/4+silence
}

// forget drops the origins that is tells.
func (a *Account) forget(is func(*origin) bool) {
	a.order = slices.DeleteFunc(a.order, func(o *origin) bool {
		if !is(o) {
			return false
		}
		delete(a.origins, o.name)
		return true
	})
}

// View returns what the account answers the origin called name.
func (a *Account) View(now window.Instant, name string) View {
	if o := a.origins[name]; o != nil {
		return a.view(now, o)
	}
	return a.outside(now)
}

// outside is what the account answers who has reported nothing.
func (a *Account) outside(now window.Instant) View {
	return View{Sum: a.sum, Limit: a.Limit(), Shed: a.shed, Blocked: a.Blocked(now)}
}

func (a *Account) view(now window.Instant, o *origin) View {
	v := a.outside(now)
	v.Echo = o.demand.Rate
	if a.rule.RateMode() { // what the others counted does not judge it
		return v
	}
	if !o.demand.Bare { // counts are told by the periods that an origin tells its own by
		v.Others.Period = o.totals.Period
	}
	for _, other := range a.order {
		if other == o || other.name == o.alone || o.name == other.alone {
			continue
		}
		if (other.demand.Bare || o.demand.Bare) && !a.silent(now, other) {
			v.Bare += other.demand.Rate
		}
		if v.Others.Period != 0 {
			v.Others.Add(&other.totals)
		}
	}
	return v
}

// Share is one origin's part in a key, as its owner knows it.
type Share struct {
	PoP   string
	Alone bool           // nodes of the PoP that count alone, together
	Rate  float64        // offered there of late, cost a second
	Ratio Ratio          // to refuse there while it is asked for Rate
	Heard window.Instant // when Rate was told last
}

// Shares returns the part of every origin that is heard, in the order they first came.
func (a *Account) Shares(now window.Instant) []Share {
	var all []Share
	ratio := a.outside(now).Ratio(0, 0) // of one that is asked for what it told
	for _, o := range a.order {
		if a.silent(now, o) && a.guarded == 0 {
			continue
		}
		pop, alone := strings.CutSuffix(o.name, Alone(""))
		all = append(all, Share{PoP: pop, Alone: alone, Rate: o.demand.Rate, Heard: o.heard, Ratio: ratio})
	}
	return all
}
