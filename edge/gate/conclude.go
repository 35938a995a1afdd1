package gate

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// conclude makes the decision of question i. pass says whether the request passes.
func (t *Together) conclude(l *Lane, now window.Instant, i int, pass bool) {
	q, p := &t.Questions[i], &t.parts[i]
	r := p.rule
	if r == nil {
		return
	}
	p.yields = p.yields && (!q.Quota || !t.spent())
	fills, told := false, false
	if p.ask >= 0 {
		ask := &t.asks[p.ask]
		c := &ask.Count
		to := &p.res.count
		to.Used, to.Wait, to.Reset, to.Folded, to.Brief = c.Used, c.Wait, c.Reset, c.Folded, c.Brief
		fills = ask.Fills && pass && !p.few && r.Action == mitigation.Block
		// above a burst of its own others have room: no flag
		told = !c.Fits && (ask.Kept && q.Burst > 0 || !r.blocks(now, c, ask.Hit, ask.Cost))
		if !c.Fits {
			switch p.res.why = mitigation.ByLimit; {
			case t.pending(i):
				p.res.why, p.res.count.Wait = mitigation.ByPending, 0
			case ask.Cost > r.Quota(), q.Burst > 0 && ask.Cost > q.Burst:
				p.res.tooMuch(r, now, ask.Hit)
			case ask.Kept && q.Burst == 0:
				p.res.why = mitigation.ByReserve
			}
		}
	}
	// the refusal before noted the flag
	folded := p.res.count.Folded && r.Action == mitigation.Shed
	if (fills || p.res.why == mitigation.ByLimit && !folded && !told) && !p.shedInstead() &&
		(fills || q.Op == Check && !p.place.asked) {
		if !p.effect.Live() {
			p.effect = l.gate.flags.Get(now, p.index)
		}
		// A count begins a block, and does not prolong the present block.
		if !fills || p.effect.Blocks(now) == 0 {
			p.res.blockLeft = l.flag(r, now, p.index, q.Key, p.effect)
		}
	}
	d := &t.Decisions[i]
	p.res.decision(r, d, p.yields)
	d.Lease, d.Full = p.place.lease, p.place.full
	if p.res.why == mitigation.ByPending {
		d.Remaining = max(0, r.Quota()-p.res.count.Used-p.waiting)
	}
	if d.Why == mitigation.ByShed {
		d.Blast = p.blast
	}
	if pass && p.res.count.Wait > 0 && p.res.why == mitigation.Unrefused &&
		!p.yields && p.ask >= 0 && t.asks[p.ask].Judges && t.asks[p.ask].Patience > 0 {
		d.Delay = p.res.count.Wait
		r.delayed.Note(p.res.count.Wait)
	}
}

// spent reports whether there are questions with Quota of which none fits, as far as is known.
func (t *Together) spent() (spent bool) {
	if !t.quotas {
		return false
	}
	for i := range t.N {
		if p := &t.parts[i]; t.Questions[i].Quota {
			if spent = true; p.rule == nil || p.ask >= 0 && t.asks[p.ask].Count.Fits {
				return false
			}
		}
	}
	return spent
}

// outcome returns the outcome of question i to tally, or Outcomes for none. One rule of a request
// is denying: the rule of the answer.
func (t *Together) outcome(i int) Outcome {
	p, q := &t.parts[i], &t.Questions[i]
	switch denies := p.res.why != mitigation.Unrefused; {
	case p.rule == nil, q.Op == Peek && !q.Whole:
		return Outcomes
	case denies && p.yields:
		return OutcomeShadowed
	case denies && i != t.By:
		return OutcomeBeside
	case denies:
		return Outcome(p.res.why)
	case t.Held || t.Deny:
		return OutcomeWithheld
	case q.Op == Count:
		return OutcomeCounted
	}
	return OutcomeAllowed
}

// choose sets the answer of the whole request from the decisions.
func (t *Together) choose() {
	longest, least := time.Duration(-1), 2.0
	for i := range t.N {
		d := &t.Decisions[i]
		t.Shadow = t.Shadow || d.Shadow
		retry := d.Retry
		if d.Why == mitigation.ByCost {
			retry = math.MaxInt64 // never: that is the answer before all others
		}
		if d.Deny && retry > longest {
			t.Deny, t.By, longest = true, i, retry
		}
		if left := float64(d.Remaining) / float64(d.Rule.Quota()); longest < 0 &&
			left < least && !t.Unnamed(i) {
			t.By, least = i, left
		}
	}
}

// stopped completes the refusal of a cost by a flag, or by a lost view, which leaves nothing. A
// cost above the limit is refused as that before all.
func (res *result) stopped(r *rule, now window.Instant, hit window.Hit, cost int64) {
	switch {
	case cost > r.Quota():
		res.tooMuch(r, now, hit)
	case res.why == mitigation.ByLimit:
		res.count.Used = r.Quota()
	}
}

// tooMuch refuses a cost above the limit.
func (res *result) tooMuch(r *rule, now window.Instant, hit window.Hit) {
	res.why, res.ratio, res.blockLeft = mitigation.ByCost, 0, 0
	switch res.count = r.meter.Peek(now, hit, 1); {
	case !res.count.Fits:
		res.count.Used = r.Quota()
	case !res.count.Exact: // without a slot any cost up to the limit passes
		res.count.Used = 0
	}
}
