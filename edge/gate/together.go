package gate

import (
	"errors"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// MaxQuestions is how many questions a request may ask.
const MaxQuestions = window.MaxQuestions

// Question is one of the questions of a request. Check counts and may deny; Peek may deny and
// counts nothing; Count counts and denies nothing.
type Question struct {
	Ask
	At     int  // place of the rule in Rules, if the caller knows it; a wrong one costs time only
	Shadow bool // denies nothing although its rule may enforce
	Quota  bool // denies only if no question with Quota fits
	// how it holds a place until its response; nil: it holds none. It must not change meanwhile
	Waits *Waits
}

// Together is the memory of a request asking several questions. Set fills Questions and N; All
// overwrites the rest. For a single goroutine, and reused: too large to copy.
type Together struct {
	Questions [MaxQuestions]Question
	N         int // how many
	// Held: the request is denied on other grounds than rules: the questions are judged and counted
	// as offered, and nothing is admitted.
	Held bool

	// at least 1 enforcing question denied: nothing was admitted under any
	Deny      bool
	Shadow    bool                   // a question in shadow would have denied
	By        int                    // the question that answers; -1 without questions. See All
	Decisions [MaxQuestions]Decision // by question

	parts   [MaxQuestions]part
	asks    [MaxQuestions]window.Question
	asked   int          // length of asks
	table   *lease.Table // of the questions about places; nil: there are none
	waiting *lease.Table // of the questions that wait; nil: there are none
	quotas  bool         // there are questions with Quota
}

// place is of a question about places, or of a question waiting for the response.
type place struct {
	asked  bool // it asks for places
	passes bool // a flag lets it pass, whatever the count
	fits   bool // its places are free
	full   bool // there is no lease left
	lease  uint64
}

// part is a question on the way to a Decision.
type part struct {
	rule   *rule // nil: its rule is off
	index  sketch.Index
	effect mitigation.Effect
	res    result
	// its place in asks; -1: it has none, because a flag or the failure mode stops it, or the
	// question is about places
	ask    int
	yields bool // it denies nothing
	blast  int  // clients of the key, where that is why a block sheds instead; else 0
	few    bool // only a block denies, because few narrower keys ask

	place place

	holds   bool  // it waits for the response
	waiting int64 // cost waiting under its key
}

// All decides the questions of t in a single step. Every question counts the cost as offered. The
// request passes only if each enforcing question passes, and only then is anything admitted.
//
// t.By is the denying question with the longest Retry, else the question nearest to the limit; of
// equals the first; -1 if all are Unnamed. With ErrUnknownRule nothing was counted.
func (b *Batch) All(t *Together) error {
	if q := &t.Questions[0]; t.N == 1 && q.Op != Count && !q.Shadow && !t.Held && q.Waits == nil {
		err := b.Decide(&t.Decisions[0], &q.Ask)
		if !errors.Is(err, ErrKind) { // a policy does not say Acquire
			d := &t.Decisions[0]
			t.Deny, t.Shadow, t.By, t.table, t.waiting = d.Deny, d.Shadow, 0, nil, nil
			if err == nil && t.Unnamed(0) {
				t.By = -1
			}
			return err
		}
	}
	if err := t.rules(b.lane, b.now); err != nil {
		t.Deny, t.Shadow, t.By = false, false, -1
		return err
	}
	t.decide(b.lane, b.now, b.chance)
	for i := range t.N {
		if o := t.outcome(i); o < Outcomes {
			if p := &t.parts[i]; o.Denies() {
				b.lane.noteDenial(p.rule, b.now, o, &t.Questions[i].Ask, p.index)
			}
			b.pending.Note(&t.parts[i].rule.tallies[b.lane.number], o, t.Questions[i].extra(o))
		}
	}
	return nil
}

// Unnamed reports whether question i, or the rule asked, is in shadow or off: no answer to a whole
// request names the rule. For after All.
func (t *Together) Unnamed(i int) bool {
	return t.Questions[i].Shadow || t.Decisions[i].Rule.Mode != mitigation.Enforce
}

// decide decides the questions of t, whose rules are known.
func (t *Together) decide(l *Lane, now window.Instant, chance func() uint64) {
	t.Deny, t.Shadow, t.By, t.asked, t.table, t.waiting = false, false, -1, 0, nil, nil
	pass := !t.Held
	for i := range t.N {
		pass = t.offer(l, now, chance, i) && pass
	}
	if pass = pass && !t.spent(); t.waiting == nil {
		pass = t.admitPlaces(now, chance, pass)
	} else {
		pass = t.admitWaiting(now, chance, pass)
	}
	for i := range t.N {
		t.conclude(l, now, i, pass)
	}
	if t.choose(); t.Deny { // by the times until there is quota, before they are spread
		for i := range t.N {
			t.Decisions[i].spread(t.Questions[i].Whole, chance)
		}
	}
}

// TakesPlaces reports whether a question is about places: the decision may have a lease, or none
// was left.
func (t *Together) TakesPlaces() bool { return t.table != nil || t.waiting != nil }

// Delay returns how long a request passing is to wait first: the longest of all questions.
func (t *Together) Delay() (longest time.Duration) {
	for i := range t.N {
		longest = max(longest, t.Decisions[i].Delay)
	}
	return longest
}

// admit admits the questions about costs, all or none.
func (t *Together) admit(now window.Instant, pass bool) bool {
	if pass {
		return window.AdmitAll(now, t.asks[:t.asked])
	}
	window.WithholdAll(now, t.asks[:t.asked])
	return false
}

// admitPlaces is admit where some questions are about places. These are looked at first, and taken
// last, under the lock of the table: a single step for all.
func (t *Together) admitPlaces(now window.Instant, chance func() uint64, pass bool) bool {
	if t.table == nil {
		return t.admit(now, pass)
	}
	t.table.Begin(now)
	defer t.table.End()
	pass = t.judgePlaces(chance) && pass
	if pass = t.admit(now, pass); pass {
		t.takePlaces(now, chance)
	}
	t.lookPlaces(now)
	return pass
}

// rules finds the rules of all questions in a single set of rules.
func (t *Together) rules(l *Lane, now window.Instant) error {
	set := l.gate.rules.Load()
	t.quotas = false
	for i := range t.N {
		q, p := &t.Questions[i], &t.parts[i]
		if q.At >= 0 && q.At < len(set.list) && set.list[q.At].Name == string(q.Rule) {
			p.rule = set.list[q.At]
		} else if p.rule = set.byName[string(q.Rule)]; p.rule == nil {
			l.gate.misnamed.Note(q.Rule)
			return ErrUnknownRule
		}
		if !q.InParts && !q.scale(&p.rule.Rule) {
			return ErrCost
		}
		t.start(p.rule.under(now, &q.Ask), i)
	}
	return nil
}

// start begins question i, which is about r.
func (t *Together) start(r *rule, i int) {
	p, d := &t.parts[i], &t.Decisions[i]
	// emptied and then set in place: to build a part elsewhere and copy takes much longer
	*p = part{}
	*d = Decision{}
	q := &t.Questions[i]
	t.quotas = t.quotas || q.Quota
	p.rule, p.yields, d.Rule = r, q.Shadow || q.Quota || r.Mode == mitigation.Shadow, &r.Rule
	if r.Mode == mitigation.Off {
		d.Remaining, p.rule = r.Quota(), nil
	}
}

// offer counts question i as offered and judges without locks as far as possible. False if denying
// the request.
//
//nolint:funlen // the steps of a question, in the order in which they decide
func (t *Together) offer(l *Lane, now window.Instant, chance func() uint64, i int) bool {
	q, p, r := &t.Questions[i], &t.parts[i], t.parts[i].rule
	if r == nil {
		return true
	}
	p.index, p.ask = r.base.Index(q.Key), t.asked
	if len(r.Reserve) > 0 {
		p.res.leaves = r.Reserved(q.Tier)
	}
	if q.Burst > 0 {
		p.res.leaves = max(p.res.leaves, r.Quota()-q.Burst)
	}
	if r.siblings != nil {
		p.few = r.fewAsk(now, p.index, q.Parts)
	}
	if r.places != nil {
		return t.offerPlaces(l, now, i)
	}
	ask := t.ask(now, chance, i)
	if ask.Judges && l.gate.flags.Decides() {
		p.effect = l.gate.effect(now, r, p.index, q.Key)
		if r.Keeps(q.Tier) {
			p.effect.Ratio = 0
		}
	}
	if r.blasts != nil {
		t.soften(l, now, i)
	}
	if q.Waits != nil {
		t.waiting = q.Waits.Table
	}
	ruling, why := mitigation.AskCount, mitigation.Unrefused
	if r.shared || p.effect.Live() {
		ruling, why = l.ruling(r, ask.Hit, p.effect, t.draw(l, now, chance, i), &p.res)
	}
	if r.shared && !ask.Counts {
		ask.Known = l.gate.peeked(r, now, ask.Hit, q.Key, &p.res)
	}
	if p.few && why != mitigation.ByBlock {
		ruling = mitigation.LetPass
	}
	switch {
	case ruling == mitigation.AskCount || !ask.Judges:
	case ruling == mitigation.Stop:
		p.res.blockLeft, p.ask = p.effect.Until.Sub(now), -1
		p.res.why, p.res.ratio = why, p.effect.Ratio
		if ask.Counts {
			p.res.blockLeft = l.gate.left(now, r, p.index, p.effect)
			p.res.count.Wait = r.meter.Refuse(now, ask.Hit, ask.Cost)
		} else {
			p.res.count = r.meter.Peek(now, ask.Hit, ask.Cost)
		}
		p.res.stopped(r, now, ask.Hit, ask.Cost)
		return p.yields
	case ruling == mitigation.LetPass:
		ask.Judges = false
	}
	t.asked++
	return p.yields || !ask.Full(now)
}

// ask makes the window's question of question i, and counts the cost as offered.
func (t *Together) ask(now window.Instant, chance func() uint64, i int) *window.Question {
	q, p := &t.Questions[i], &t.parts[i]
	r, ask := p.rule, &t.asks[t.asked]
	*ask = window.Question{}
	ask.Meter, ask.Cost, ask.Judges, ask.Counts = r.meter, q.cost(), q.Op != Count, q.Op != Peek
	ask.Yields, ask.Leaves, ask.Quota, ask.Count.Fits = p.yields, p.res.leaves, q.Quota, true
	offered := ask.Cost
	if !ask.Judges {
		ask.Cost, offered = r.Countable(ask.Cost), min(ask.Cost, r.Quota())
	}
	if q.Wait {
		ask.Patience = r.Delay
	}
	if ask.Counts {
		ask.Hit = r.offer(now, p.index, q.Key, offered, chance)
	} else {
		ask.Hit = r.meter.Look(now, p.index)
	}
	return ask
}
