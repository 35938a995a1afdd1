package gate

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// leaseBytes returns how much of o's memory is for leases: an eighth at most, if a rule needs any.
func leaseBytes(o *Options) int64 {
	if slices.ContainsFunc(o.Rules,
		func(r mitigation.Rule) bool { return r.Kind == mitigation.Concurrency }) {
		return min(lease.MaxBytes, o.Memory/8)
	}
	return 0
}

// setPlaces prepares the table of leases for rules. Where no rule had any use for places at the
// start, the table is the smallest, beside the memory.
func (g *Gate) setPlaces(rules []mitigation.Rule) {
	var names []string
	for i := range rules {
		if rules[i].Kind == mitigation.Concurrency {
			names = append(names, rules[i].Name)
		}
	}
	if len(names) > 0 && g.leases == nil {
		g.leases = lease.New(0)
	}
	if g.leases != nil {
		g.leases.SetRules(names)
	}
}

// setSpecial sets the parts of r following from its kind.
func (g *Gate) setSpecial(r *rule) {
	r.special = len(r.Reserve) > 0 || r.Delay > 0 || r.ShedBy != "" || r.Scale > 0 ||
		r.Counts == mitigation.CountOffered
	if r.Kind == mitigation.Concurrency {
		r.special, r.places, r.number = true, g.leases, g.leases.RuleNumber(r.Name)
	}
}

// special decides a under a rule whose count alone does not decide, or an Acquire. Returns the
// outcome to tally, Outcomes for none, wrongKind or wrongCost.
func (l *Lane) special(
	d *Decision, r *rule, now window.Instant, chance func() uint64, a *Ask,
) Outcome {
	places := r.places != nil
	switch {
	case !a.scale(&r.Rule):
		return wrongCost
	case a.Op != Peek && places != (a.Op == Acquire):
		return wrongKind
	case r.Mode == mitigation.Off:
		d.Remaining = r.Limit
		return Outcomes
	case a.Op == Count:
		l.count(r, now, chance, a)
		return OutcomeCounted
	}
	t := l.gate.single.Get().(*Together) //nolint:forcetypeassert // see New
	defer l.gate.single.Put(t)
	t.N, t.Held = 1, false
	q := &t.Questions[0]
	*q = Question{Ask: *a, At: -1}
	if a.Op == Acquire {
		q.Op = Check
	}
	t.start(r, 0)
	t.decide(l, now, chance)
	*d = t.Decisions[0]
	outcome := t.outcome(0)
	if outcome.Denies() {
		l.noteDenial(r, now, outcome, a, t.parts[0].index)
	}
	*q = Question{} // the pool keeps nothing of the caller's
	return outcome
}

// leaseFor returns how long the lease of q lasts.
func (q *Question) leaseFor(r *rule) time.Duration {
	if wish := time.Duration(q.For) * time.Second; wish > 0 && wish < r.Lease {
		return wish
	}
	return r.Lease
}

// offerPlaces is offer for a question about places.
func (t *Together) offerPlaces(l *Lane, now window.Instant, i int) bool {
	p := &t.parts[i]
	p.ask = -1
	if t.Questions[i].Op != Count && l.gate.flags.Decides() {
		p.effect = l.gate.effect(now, p.rule, p.index, t.Questions[i].Key)
	}
	ruling, why := mitigation.ByFlag(p.effect, 0) // a key's places have no drop ratio
	if ruling == mitigation.Stop {
		p.res.why, p.res.blockLeft = why, p.effect.Until.Sub(now)
		return p.yields
	}
	p.place.asked, p.place.passes, t.table = true, ruling == mitigation.LetPass ||
		p.few, p.rule.places
	return true
}

// judgePlaces judges the questions about places, the table of leases being locked: which questions
// find places, and so whether the request may pass.
func (t *Together) judgePlaces(chance func() uint64) (pass bool) {
	pass = true
	wanted := 0
	for i := range t.N {
		p := &t.parts[i]
		if !p.place.asked {
			continue
		}
		q, r := &t.Questions[i], p.rule
		used, cost := r.places.Used(p.index)+t.placesBefore(i), q.cost()
		p.res.count = window.Count{Used: used, Exact: true}
		switch over := used + cost - r.Limit; {
		case p.place.passes || q.Op == Count:
		case cost > r.Limit:
			p.res.why = mitigation.ByCost
		case over > 0:
			p.res.why = mitigation.ByLimit
		case over+p.res.leaves > 0:
			p.res.why = mitigation.ByReserve
		}
		p.place.fits = p.res.why == mitigation.Unrefused && q.Op == Check
		if p.place.fits && (used+cost > mostPlaces || !r.places.HasRoom(wanted+1, chance)) {
			p.place.fits, p.place.full = false, true
			if r.FailureMode == mitigation.FailDeny {
				p.res.why = mitigation.ByLimit
			}
		}
		if p.place.fits {
			wanted++
		}
		pass = pass && (p.res.why == mitigation.Unrefused || p.yields)
	}
	return pass
}

// mostPlaces is the most places of a key, however many an operator's allow permits.
const mostPlaces = 1 << 31

// placesBefore returns the places taken by earlier questions of the request of the key of question
// n.
func (t *Together) placesBefore(n int) (sum int64) {
	for i := range n {
		if p := &t.parts[i]; p.place.asked && p.place.fits && p.index == t.parts[n].index {
			sum += t.Questions[i].cost()
		}
	}
	return sum
}

// takePlaces takes a lease for each question with places.
func (t *Together) takePlaces(now window.Instant, chance func() uint64) {
	for i := range t.N {
		p := &t.parts[i]
		if !p.place.asked {
			continue
		}
		q, r := &t.Questions[i], p.rule
		if p.place.fits {
			p.place.lease = r.places.Take(now, &lease.Request{
				// at most MaxCost; cut
				Index: p.index, Key: q.Key, Rule: r.number, Cost: uint32(q.cost()),
				For: q.leaseFor(r), Nonce: uint32(chance()), Limit: r.Limit,
			})
			p.res.count.Used += q.cost()
		}
	}
}

// lookPlaces notes until when the places of each question are taken at most.
func (t *Together) lookPlaces(now window.Instant) {
	for i := range t.N {
		switch p := &t.parts[i]; {
		case !p.place.asked:
		case p.res.why == mitigation.Unrefused:
			p.res.count.Reset = p.rule.places.Left(now, p.index)
		default:
			p.res.count.Reset = time.Second // any moment, as it is for Retry
		}
	}
}

// Release gives back the lease of number under key, or the key's oldest if number is 0. late: there
// is no such lease, unknown, released or ended. The error is ErrUnknownRule, or ErrKind for a rule
// without leases.
func (g *Gate) Release(now window.Instant, name, key []byte, number uint64) (late bool, err error) {
	r, err := g.placesOf(name)
	if err != nil {
		return false, err
	}
	return !r.places.Release(now, r.meter.Index(key), number), nil
}

// Renew begins the lease anew, with the arguments of Release.
func (g *Gate) Renew(now window.Instant, name, key []byte, number uint64) (late bool, err error) {
	r, err := g.placesOf(name)
	if err != nil {
		return false, err
	}
	return !r.places.Renew(now, r.meter.Index(key), number), nil
}

// placesOf returns the rule of kind concurrency called name.
func (g *Gate) placesOf(name []byte) (*rule, error) {
	r := g.rules.Load().byName[string(name)]
	switch {
	case r == nil:
		g.misnamed.Note(name)
		return nil, ErrUnknownRule
	case r.places == nil:
		return nil, ErrKind
	}
	return r, nil
}

// EndLease gives back the lease of number, of whatever key. False: there is none.
func (g *Gate) EndLease(now window.Instant, number uint64) bool {
	table := g.leaseTable()
	return table != nil && table.ReleaseByNumber(now, number)
}

// sweepLeases drops ended leases.
func (g *Gate) sweepLeases(now window.Instant) {
	if table := g.leaseTable(); table != nil {
		table.Sweep(now)
	}
}

// RulePlaces is how much is taken under a rule of kind concurrency.
type RulePlaces struct {
	Rule string
	lease.RuleUse
}

// PlacesTaken returns how much is taken at now under each rule of kind concurrency, in the order of
// the configuration.
func (g *Gate) PlacesTaken(now window.Instant) (all []RulePlaces) {
	for _, r := range g.rules.Load().list {
		if r.places != nil {
			all = append(all, RulePlaces{r.Name, r.places.Use(now, r.number)})
		}
	}
	return all
}

// Leases returns the leases of key under the rule called name at now, oldest first, up to most. The
// error is ErrUnknownRule, or ErrKind for a rule without leases.
func (g *Gate) Leases(now window.Instant, name, key []byte, most int) ([]lease.Lease, error) {
	r, err := g.placesOf(name)
	if err != nil {
		return nil, err
	}
	return r.places.Leases(now, r.meter.Index(key), most), nil
}

// Holders returns the keys holding most places under the rule called name at now, up to most, and
// how many keys hold any. The error is as for Leases.
func (g *Gate) Holders(
	now window.Instant, name []byte, most int,
) (list []lease.Held, keys int, err error) {
	r, err := g.placesOf(name)
	if err != nil {
		return nil, 0, err
	}
	list, keys = r.places.Held(now, r.number, most)
	return list, keys, nil
}

// LeaseStats returns the figures of the leases at now; zero where no rule ever needed any.
func (g *Gate) LeaseStats(now window.Instant) lease.Stats {
	if table := g.leaseTable(); table != nil {
		return table.Stats(now)
	}
	return lease.Stats{}
}

// leaseTable returns the table of the rules of kind concurrency in force, nil if there are none.
func (g *Gate) leaseTable() *lease.Table {
	return tableOf(g, func(r *rule) *lease.Table { return r.places })
}
