package gate

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// Waits makes a question hold a place until the request's response is known: the question may count
// by then. The question passes only while the counted cost, the waiting cost and the question's
// cost are at most the limit and Most together.
type Waits struct {
	Table *lease.Table
	Under uint16        // number in Table of who reports
	Most  int64         // cost that may wait beyond the limit
	For   time.Duration // a place ends by then, 1 s to 1 h
}

// admitWaiting is admit where questions wait. The waiting cost is read and raised under a single
// lock, and before the counted cost: a report counts before the place ends.
func (t *Together) admitWaiting(now window.Instant, chance func() uint64, pass bool) bool {
	t.waiting.Begin(now)
	defer t.waiting.End()
	for i := range t.N {
		q, p := &t.Questions[i], &t.parts[i]
		if q.Waits == nil || p.rule == nil || p.ask < 0 ||
			t.waiting.Quiet(q.Waits.Under) && p.rule.FailureMode != mitigation.FailDeny {
			continue
		}
		p.holds, p.waiting = true, t.waiting.Used(p.index)
		for j := range i {
			if o := &t.parts[j]; o.holds && o.index == p.index {
				p.waiting += t.Questions[j].cost()
			}
		}
		t.asks[p.ask].Leaves += max(0, p.waiting-q.Waits.Most)
	}
	if pass = t.admitPlaces(now, chance, pass); pass {
		t.hold(now, chance)
	}
	return pass
}

// hold takes the places of a passing request. Where there is no room, the question holds none.
func (t *Together) hold(now window.Instant, chance func() uint64) {
	for i := range t.N {
		q, p := &t.Questions[i], &t.parts[i]
		if !p.holds || !t.waiting.HasRoom(1, chance) {
			continue
		}
		p.place.lease = t.waiting.Take(now, &lease.Request{
			// at most MaxCost
			Index: p.index, Key: q.Key, Rule: q.Waits.Under, Limit: p.rule.Quota() + q.Waits.Most,
			Cost:  uint32(q.cost()),
			For:   min(max(q.Waits.For.Round(time.Second), lease.MinTime), lease.MaxTime),
			Nonce: uint32(chance()),
		})
		p.waiting += q.cost()
		p.res.leaves += p.waiting
	}
}

// pending makes the refusal of a question for waiting cost, and returns whether there is such a
// refusal.
func (t *Together) pending(i int) bool {
	q, p := &t.Questions[i], &t.parts[i]
	return p.holds && p.waiting > q.Waits.Most && t.asks[p.ask].Kept
}

// Index returns the index of key under the rule called name; false: there is no such rule.
func (g *Gate) Index(name, key []byte) (sketch.Index, bool) {
	r := g.rules.Load().byName[string(name)]
	if r == nil {
		return 0, false
	}
	return r.meter.Index(key), true
}
