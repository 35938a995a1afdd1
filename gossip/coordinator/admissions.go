package coordinator

import (
	"math"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// admissions are window.Totals of a small limit without the refusals, in a third of the bytes.
type admissions struct {
	period uint32
	by     [window.Periods]struct{ cost, times uint32 }
}

// admissionsOf returns the admissions in t, of a period no more than times have room for.
func admissionsOf(t *window.Totals) (a admissions) {
	const most = math.MaxUint32 / window.TimeParts
	a.period = t.Period
	for n := range t.By {
		cost := min(t.By[n].Admitted, most)
		a.by[n].cost = uint32(cost)
		a.by[n].times = uint32(min(t.By[n].Times, cost*window.TimeParts))
	}
	return a
}

// totals returns a as totals: nothing was refused.
func (a *admissions) totals() (t window.Totals) {
	t.Period = a.period
	for n := range a.by {
		cost := int64(a.by[n].cost)
		t.By[n] = window.PeriodTotals{Offered: cost, Admitted: cost, Times: int64(a.by[n].times)}
	}
	return t
}

// others returns the admissions of the other origins of k, by period.
func (k *counted) others() (all window.Totals) {
	if k.before != nil {
		all = *k.before
	}
	for n := range k.states {
		all.Roll(k.states[n].Period)
	}
	if all.Period == 0 {
		return all
	}
	for n := range all.By {
		sum := counts.Sum(k.states, all.Period-uint32(n))
		all.Raise(all.Period-uint32(n), window.PeriodTotals{Offered: sum, Admitted: sum})
	}
	return all
}

// standing returns the standing of k at now: each PoP's part is its admissions in the window.
func (c *Coordinator) standing(now window.Instant, k *counted) control.Standing {
	s := control.Standing{
		Rate: float64(k.rate), Alone: k.alone, Viewed: k.heard,
		Parts: []control.Part{{
			PoP: c.o.PoP, Alone: k.alone, Rate: float64(k.rate), ReportedAt: k.measured,
		}},
	}
	s.View = control.GlobalView{Sum: s.Rate, Limit: k.rule.PerSecond(), Others: k.others()}
	newest := c.period(now, &k.rule.Rule)
	for n := range k.states {
		name := c.counts.origins.Name(k.states[n].Origin)
		part := control.Part{PoP: name, ReportedAt: k.heard}
		if pop, ok := c.assignment.PoP(name); ok && !c.assignment.Has(name) {
			part.PoP, part.Alone = pop, true
		}
		for back := range uint32(k.rule.basis.Each) { // 1 or 5
			part.Rate += float64(counts.Sum(k.states[n:n+1], newest-back))
		}
		part.Rate /= k.rule.Window.Seconds()
		s.View.Sum += part.Rate
		s.Parts = append(s.Parts, part)
	}
	return s
}
