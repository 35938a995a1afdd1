package edge

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Lane is one reader's own way through an Edge: the tallies it writes are its own, so that two readers
// do not write to one cache line for every request.
type Lane struct {
	edge   *Edge
	number int
	recent atomic.Pointer[rule] // the rule asked for last: most batches ask for one rule only
	_      [40]byte             // lanes do not share cache lines
}

// finding is what became of one request, before it is put into words.
type finding struct {
	count window.Count
	why   mitigation.Why
	rest  time.Duration // how long a block still lasts
	ratio mitigation.Ratio
	view  wire.View
}

// Decide answers one query at now; u is 64 random bits. It takes no lock but that of the key's own
// slot, for tens of nanoseconds; it does no I/O, does not allocate and cannot fail.
func (l *Lane) Decide(now window.Instant, u uint64, q wire.Query) (d Decision) {
	l.DecideTo(&d, now, u, &q)
	return d
}

// DecideTo is Decide without the copies, for a door that answers batches: d is overwritten.
func (l *Lane) DecideTo(d *Decision, now window.Instant, u uint64, q *wire.Query) {
	*d = Decision{Answer: wire.Answer{ID: q.ID}}
	if q.Op == wire.Ping {
		d.Answer.Status = wire.Pong
		return
	}
	r := l.rule(q.Rule)
	if r == nil {
		d.Answer.Status, d.Answer.Code = wire.Error, wire.UnknownRule
		return
	}
	d.Rule = &r.Rule
	l.decide(&d.Answer, r, now, u, q)
}

// decide answers q, which asks for rule r, in a, which is zero.
func (l *Lane) decide(a *wire.Answer, r *rule, now window.Instant, u uint64, q *wire.Query) {
	var f finding
	switch {
	case r.Mode == mitigation.Off:
		a.Remaining = r.Limit
	case q.Op == wire.Count:
		l.count(r, now, u, q)
	case q.Op == wire.Peek:
		l.peek(r, now, u, q, &f)
		r.answer(&f, a)
	default:
		l.check(r, now, u, q, &f)
		r.answer(&f, a)
		r.tallies[l.number].note(outcomeOf(r.Mode, f.why), q.Cost)
	}
	if q.Op == wire.Count {
		*a = wire.Answer{Status: wire.OK, ID: a.ID}
	}
}

// rule returns the rule called name as it is in force now, or nil.
func (l *Lane) rule(name []byte) *rule {
	set := l.edge.rules.Load()
	if r := l.recent.Load(); r != nil && r.set == set && r.Name == string(name) {
		return r
	}
	r := set.byName[string(name)]
	l.recent.Store(r)
	return r
}

// check counts and decides, in the order of the contract: offered first, then the flag, then the count.
func (l *Lane) check(r *rule, now window.Instant, u uint64, q *wire.Query, f *finding) {
	cost, i := int64(q.Cost), r.meter.Index(q.Key)
	hit := r.meter.Offer(now, i, q.Key, cost, u)
	effect := l.edge.flags.Get(now, i)
	ruling, why := l.ruling(r, hit, effect, l.edge.flags.Draw(effect, u), f)
	switch ruling {
	case mitigation.LetPass:
		f.count = r.meter.Record(now, hit, cost)
	case mitigation.Stop:
		r.meter.Refuse(now, hit, cost)
		f.why, f.ratio, f.rest = why, effect.Ratio, effect.Until.Sub(now)
	default:
		if f.count = r.meter.Admit(now, hit, cost); !f.count.Fits {
			f.why = mitigation.ByLimit
			f.rest = l.flag(r, now, i, q.Key, effect)
		}
	}
}

// ruling is what the key's flag says or, where that is nothing and the view is lost, the rule's failure mode; it
// notes the view in f.
func (l *Lane) ruling(
	r *rule, hit window.Hit, effect mitigation.Effect, u uint64, f *finding,
) (ruling mitigation.Ruling, why mitigation.Why) {
	ruling, why = mitigation.ByFlag(effect, u)
	view, lost := l.edge.view(r, hit)
	if f.view = view; lost && ruling == mitigation.AskCount {
		return mitigation.ByLoss(&r.Rule)
	}
	return ruling, why
}

// flag notes in the table that key is past its limit, and returns for how long that blocks it. A shed
// key is noted for people to see: its own exact count goes on deciding.
func (l *Lane) flag(r *rule, now window.Instant, i sketch.Index, key []byte, is mitigation.Effect) time.Duration {
	lasts := r.Window
	if r.Action == mitigation.Block {
		lasts = r.BlockFor
	} else if is.Live() && is.Until.Sub(now) > lasts/2 {
		return 0
	}
	l.edge.flags.TryPut(now, mitigation.Flag{
		Index: i, Rule: r.Name, Key: key, Action: r.Action, Source: mitigation.Self, Since: now, Until: now.Add(lasts),
	})
	if r.Action == mitigation.Block {
		return lasts
	}
	return 0
}

// peek decides and counts nothing.
func (l *Lane) peek(r *rule, now window.Instant, u uint64, q *wire.Query, f *finding) {
	i := r.meter.Index(q.Key)
	hit := r.meter.Look(now, i)
	f.count = r.meter.Peek(now, hit, int64(q.Cost))
	effect := l.edge.flags.Get(now, i)
	ruling, why := l.ruling(r, hit, effect, u, f)
	switch {
	case ruling == mitigation.Stop:
		f.why, f.ratio, f.rest = why, effect.Ratio, effect.Until.Sub(now)
	case ruling == mitigation.AskCount && !f.count.Fits:
		f.why = mitigation.ByLimit
	}
}

// count counts cost as offered and admitted. More than a whole limit at once weighs as much as one.
func (l *Lane) count(r *rule, now window.Instant, u uint64, q *wire.Query) {
	cost := min(int64(q.Cost), r.Limit)
	hit := r.meter.Offer(now, r.meter.Index(q.Key), q.Key, cost, u)
	r.meter.Record(now, hit, cost)
	r.tallies[l.number].note(outcomeCounted, q.Cost)
}

// wireWhy puts mitigation's grounds into the protocol's words.
var wireWhy = [...]wire.Why{
	mitigation.Unrefused: wire.NoWhy,
	mitigation.ByBlock:   wire.WhyBlock,
	mitigation.ByShed:    wire.WhyShed,
	mitigation.ByLimit:   wire.WhyLimit,
}

// answer puts a finding into a, which is zero.
func (r *rule) answer(f *finding, a *wire.Answer) {
	v := mitigation.Judge(&r.Rule, f.why)
	a.View, a.Shadow, a.Reset = f.view, v.Shadow, seconds(f.count.Reset)
	if f.why == mitigation.Unrefused {
		a.Remaining = max(0, r.Limit-f.count.Used)
		return
	}
	if !v.Deny {
		return
	}
	a.Status, a.Why, a.Ratio = wire.Deny, wireWhy[f.why], float32(f.ratio.Float())
	a.Retry = max(1, seconds(max(f.rest, f.count.Wait)))
	if f.why == mitigation.ByShed {
		a.Retry = 1 // the next draw is independent of this one
	}
	a.Reset = max(a.Reset, min(a.Retry, seconds(r.Window)))
}

// seconds rounds up to whole seconds, never below 0.
func seconds(d time.Duration) uint32 {
	return uint32(max(0, (d+time.Second-1)/time.Second)) // at most 30 days
}
