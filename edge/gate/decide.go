package gate

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Lane is the path of a reader through a Gate. Each lane has separate tallies, so two readers do
// not write to the same cache line on every request. A lane may serve several goroutines at once,
// at the price of contention on the tallies.
type Lane struct {
	gate   *Gate
	number int
	// cache of the last rule asked for: most batches ask for a single rule
	recent atomic.Pointer[rule]
	dice   mitigation.Dice
	_      [88]byte // keeps lanes on different pairs of cache lines
}

// draw returns the bits that decide a request by the ratio of its key's flag; 0 without a ratio.
func (l *Lane) draw(e mitigation.Effect, chance func() uint64) uint64 {
	if e.Ratio == 0 {
		return 0
	}
	return l.dice.Draw(chance())
}

// result is the outcome of a request, before a Decision.
type result struct {
	count     window.Count
	why       mitigation.Why
	blockLeft time.Duration // until the flag ends; 0 or less: it ended, or there is none
	ratio     mitigation.Ratio
	view      mitigation.Scope
	leaves    int64        // part of the limit the request must leave to others
	index     sketch.Index // of the key, where a rule's count alone decides
}

// Decide answers a at now. u is 64 random bits, drawn anew for each request and independent of the
// key.
//
// Decide performs no I/O and does not allocate. Takes no lock but the lock of the key's slot, for
// tens of nanoseconds. The error is ErrUnknownRule or nil.
func (l *Lane) Decide(now window.Instant, u uint64, a Ask) (d Decision, err error) {
	err = l.DecideTo(&d, now, u, &a)
	return d, err
}

// DecideTo is Decide without copies: Decide overwrites *d and only reads *a. A door answering
// batches uses a Batch.
func (l *Lane) DecideTo(d *Decision, now window.Instant, u uint64, a *Ask) error {
	r, outcome := l.decide(d, now, func() uint64 { return u }, a)
	if r == nil {
		return ErrUnknownRule
	}
	if outcome < Outcomes {
		r.tallies[l.number].Note(outcome, 1, a.extra(outcome))
		return nil
	}
	return kindError(outcome)
}

// decide decides a into *d, overwriting *d, and returns the rule and the outcome to tally, or
// Outcomes where nothing is tallied. The rule is nil if none in force has the name. chance returns
// 64 random bits; called only where the decision, or its retry, depends on chance.
func (l *Lane) decide(
	d *Decision, now window.Instant, chance func() uint64, a *Ask,
) (*rule, Outcome) {
	*d = Decision{}
	r := l.rule(a.Rule)
	if r == nil {
		l.gate.misnamed.Note(a.Rule)
		return nil, Outcomes
	}
	r = r.under(now, a)
	d.Rule = &r.Rule
	var res result
	switch {
	case r.special || a.Burst > 0 || a.Millionths > 0 || a.Op == Acquire:
		return r, l.special(d, r, now, chance, a)
	case r.Mode == mitigation.Off:
		d.Remaining = r.Quota()
		return r, Outcomes
	case a.Op == Count:
		l.count(r, now, chance, a)
		return r, OutcomeCounted
	}
	if a.Op == Peek {
		l.peek(r, now, chance, a, &res)
	} else {
		l.check(r, now, chance, a, &res)
	}
	outcome := Outcomes
	if a.Op != Peek || a.Whole {
		outcome = outcomeOf(r.Mode, res.why)
	}
	if outcome.Denies() {
		l.noteDenial(r, now, outcome, a, res.index)
	}
	res.decision(r, d, r.Mode == mitigation.Shadow)
	d.spread(a.Whole, chance)
	return r, outcome
}

// rule returns the rule in force called name, or nil.
func (l *Lane) rule(name []byte) *rule {
	set := l.gate.rules.Load()
	if r := l.recent.Load(); r != nil && r.set == set && r.Name == string(name) {
		return r
	}
	r := set.byName[string(name)]
	l.recent.Store(r)
	return r
}

// check counts and decides. The order is part of the contract: first the cost is counted as
// offered, then the flag decides, then the exact count.
func (l *Lane) check(r *rule, now window.Instant, chance func() uint64, a *Ask, res *result) {
	cost, i := a.cost(), r.base.Index(a.Key)
	res.index = i
	hit := r.offer(now, i, a.Key, cost, chance)
	var effect mitigation.Effect
	ruling, why := mitigation.AskCount, mitigation.Unrefused
	decides := l.gate.flags.Decides()
	if decides {
		effect = l.gate.effect(now, r, i, a.Key)
	}
	if decides || r.shared {
		ruling, why = l.ruling(r, hit, effect, l.draw(effect, chance), res)
	}
	switch ruling {
	case mitigation.LetPass:
		res.count = r.meter.Record(now, hit, cost)
	case mitigation.Stop:
		res.count.Wait = r.meter.Refuse(now, hit, cost)
		res.why, res.ratio, res.blockLeft = why, effect.Ratio, l.gate.left(now, r, i, effect)
		res.stopped(r, now, hit, cost)
	default:
		if r.meter.AdmitTo(&res.count, now, &hit, cost); res.count.Fits {
			return
		}
		if res.why = mitigation.ByLimit; cost > r.Quota() {
			res.tooMuch(r, now, hit)
			return
		}
		if res.count.Folded && r.Action == mitigation.Shed {
			return // the refusal before it noted the flag
		}
		if !r.blocks(now, &res.count, hit, cost) {
			return
		}
		if !decides {
			effect = l.gate.flags.Get(now, i)
		}
		res.blockLeft = l.flag(r, now, i, a.Key, effect)
	}
}

// offer counts cost as offered by key, with index i. offer draws chance only where the meter rounds
// the cost.
func (r *rule) offer(
	now window.Instant, i sketch.Index, key []byte, cost int64, chance func() uint64,
) window.Hit {
	if hit, ok := r.base.Find(i); ok {
		return hit
	}
	u := uint64(0)
	if r.meter.Rounds() {
		u = chance()
	}
	return r.meter.OfferNew(now, i, key, cost, u)
}

// ruling returns the ruling of the key's flag. Where the flag leaves the decision to the count and
// the view of the count is lost, the rule's failure mode rules instead. ruling records the view in
// res.
func (l *Lane) ruling(
	r *rule, hit window.Hit, effect mitigation.Effect, u uint64, res *result,
) (ruling mitigation.Ruling, why mitigation.Why) {
	ruling, why = mitigation.ByFlag(effect, u)
	view, lost := l.gate.view(r, hit)
	if res.view = view; lost && ruling == mitigation.AskCount {
		return mitigation.ByLoss(&r.Rule)
	}
	return ruling, why
}

// blocks reports whether a refusal by c may begin a block of r: not if other nodes alone said that
// the key is at its limit, since a refund may have come between. The next exchange tells.
func (r *rule) blocks(now window.Instant, c *window.Count, hit window.Hit, cost int64) bool {
	return !c.Told || r.Action != mitigation.Block || r.meter.Excess(now, hit, cost)
}

// flag records in the table that key exceeded the limit, and returns the time for which the key is
// blocked from now on.
//
// The result is 0 where no block stands: the rule sheds, or the table was full or being written to.
// The next refusal tries again. The flag of a shedding rule only shows the key to people; the exact
// count goes on deciding. Renewed once half has passed, which saves most writes.
func (l *Lane) flag(
	r *rule, now window.Instant, i sketch.Index, key []byte, is mitigation.Effect,
) time.Duration {
	lasts := max(r.fill, mitigation.MinWindow)
	if r.Action == mitigation.Block {
		l.gate.flags.TryPutBlock(now,
			mitigation.Flag{Index: i, Rule: r.Name, Key: key, Source: mitigation.Self, Since: now},
			&r.Rule)
		return l.gate.flags.Get(now, i).Blocks(now)
	}
	if is.Live() && is.Until.Sub(now) > lasts/2 {
		return 0
	}
	l.gate.flags.TryPut(now, mitigation.Flag{
		Index: i, Rule: r.Name, Key: key, Action: r.Action, Source: mitigation.Self, Since: now,
		Until: now.Add(lasts),
	})
	return l.gate.flags.Get(now, i).Blocks(now)
}

// peek decides without counting, and takes no turn of the key's ratio.
func (l *Lane) peek(r *rule, now window.Instant, chance func() uint64, a *Ask, res *result) {
	i := r.meter.Index(a.Key)
	res.index = i
	hit := r.meter.Look(now, i)
	res.count = r.meter.Peek(now, hit, a.cost())
	effect, u := l.gate.effect(now, r, i, a.Key), uint64(0)
	if effect.Ratio != 0 {
		u = chance()
	}
	ruling, why := l.ruling(r, hit, effect, u, res)
	if r.shared {
		res.count.Heed(r.meter, now, l.gate.peeked(r, now, hit, a.Key, res))
	}
	switch {
	case ruling == mitigation.Stop:
		res.why, res.ratio, res.blockLeft = why, effect.Ratio, effect.Until.Sub(now)
		res.stopped(r, now, hit, a.cost())
	case ruling == mitigation.AskCount && a.cost() > r.Quota():
		res.tooMuch(r, now, hit)
	case ruling == mitigation.AskCount && !res.count.Fits:
		res.why = mitigation.ByLimit
	}
}

// count counts cost as offered and admitted, without a decision. A count up to the limit begins the
// block of a rule that blocks: the next request could not pass anyway. charge is count without
// blocks.
func (l *Lane) count(r *rule, now window.Instant, chance func() uint64, a *Ask) {
	hit := l.charge(r, now, chance, a)
	if r.Action != mitigation.Block || r.meter.Peek(now, hit, 1).Fits {
		return
	}
	i := r.meter.Index(a.Key)
	if is := l.gate.flags.Get(now, i); is.Blocks(now) == 0 {
		l.flag(r, now, i, a.Key, is)
	}
}

// charge counts cost as offered and admitted.
func (l *Lane) charge(r *rule, now window.Instant, chance func() uint64, a *Ask) window.Hit {
	cost := r.Countable(a.cost())
	hit := r.offer(now, r.meter.Index(a.Key), a.Key, min(cost, r.Quota()), chance)
	r.meter.Record(now, hit, cost)
	return hit
}

// decision fills d from res, in shadow or not. d.Rule is set already, and r is the same rule.
func (res *result) decision(r *rule, d *Decision, shadow bool) {
	if d.View, d.Reset = res.view, res.count.Reset; res.count.Brief {
		d.View = mitigation.Node
	}
	if res.why == mitigation.Unrefused {
		d.Remaining = max(0, r.Quota()-res.leaves-res.count.Used)
		return
	}
	if res.why == mitigation.ByLimit || res.why == mitigation.ByCost {
		d.Remaining = max(0, r.Quota()-res.leaves-res.count.Used)
	}
	v := mitigation.Judge(&r.Rule, res.why)
	if shadow && v.Deny {
		v.Deny, v.Shadow = false, true
	}
	retry := max(time.Second, res.blockLeft, res.count.Wait)
	switch res.why {
	case mitigation.ByShed:
		retry = time.Second // the next draw is independent of this one
	case mitigation.ByCost:
		retry = 0 // never
	}
	if retry > 0 && (r.Kind == mitigation.Window || res.why != mitigation.ByLimit) {
		d.Reset = max(d.Reset, min(retry, r.fill)) // a bucket may have some before it has the cost
	}
	if d.Shadow = v.Shadow; v.Deny {
		d.Deny, d.Why, d.Ratio, d.Retry = true, res.why, res.ratio, retry
	}
}
