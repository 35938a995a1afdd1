package window

import "time"

// MaxQuestions is how many questions a request may ask.
const MaxQuestions = 16

// Question is one of several questions of a request. The request passes only if all pass. The
// caller fills it up to Counts; AdmitAll or WithholdAll fills the rest.
type Question struct {
	Meter  *Meter
	Hit    Hit   // from Offer, or from Look where Counts is false
	Cost   int64 // at least 1
	Judges bool  // its count may refuse
	Counts bool  // its cost is admitted if the request passes
	Yields bool  // its refusal does not hold up the others: its rule is in shadow
	Quota  bool  // its refusal holds up the others if all questions with Quota are refused
	Leaves int64 // part of the limit that must stay free besides; 0 for most
	// until when other nodes know a key without a slot to be at its limit; 0: they do not
	Known Instant

	// of a bucket: cost fits, too, if so within this time, and Count.Wait says when
	Patience time.Duration

	Kept  bool  // it does not fit, and would if Leaves were 0
	Count Count // the answer; Fits is true if Judges is false
	Fills bool  // of a question that does not judge: with its cost the key is at its limit
	t     stamp // of the slot, while it is locked
}

// slot returns q's slot, which must have a place.
func (q *Question) slot() *slot { return &q.Meter.c.table.slots[q.Hit.at] }

// Full reports whether q's key is known, without a lock, to be at the limit, and sets Count if so.
func (q *Question) Full(now Instant) bool {
	if !q.Judges || q.Hit.at == noSlot {
		return false
	}
	s := q.slot()
	if s.index.Load() != uint64(q.Hit.index) || q.Meter.other(s) {
		return false
	}
	wait := s.full.until().Sub(now)
	if wait <= 0 || s.index.Load() != uint64(q.Hit.index) {
		return false
	}
	q.Count = Count{
		Used: q.Meter.limit, Wait: wait, Reset: wait, Exact: true, Told: s.full.held(now),
	}
	if q.Patience > 0 {
		return false
	}
	if need := q.Cost + q.Leaves; need > 1 {
		// more may have to leave the window than for cost 1
		q.Count = q.Meter.Peek(now, q.Hit, need)
	}
	return !q.Count.Fits
}

// AdmitAll admits all questions if each fits, else none, and reports which. A question with Yields
// is admitted if its cost fits and all judging questions fit; of questions with Quota, which yield
// too, one must fit. At most MaxQuestions of a Counter.
//
// The slots are locked in the order of their places, looked at, written and unlocked. So the check
// and the record are a single step for all, and two requests sharing slots never wait for each
// other in a circle. Keys without a slot take no lock.
func AdmitAll(now Instant, all []Question) bool {
	var order [MaxQuestions]uint8
	held := lockAll(all, &order)
	defer unlockAll(all, &order, held)
	pass, quotas, refused := true, 0, 0
	for i := range all {
		q := &all[i]
		q.judge(now, all[:i])
		pass = pass && (q.Count.Fits || q.Yields)
		if q.Quota {
			if quotas++; !q.Count.Fits {
				refused++
			}
		}
	}
	pass = pass && (quotas == 0 || refused < quotas)
	for i := range all {
		all[i].write(now, pass)
	}
	return pass
}

// WithholdAll records the questions of a request refused on other grounds, such as a flag or the
// failure mode of a rule. Nothing is admitted, and Count is each question's answer alone.
func WithholdAll(now Instant, all []Question) {
	for i := range all {
		switch q := &all[i]; {
		case !q.Full(now) || !q.Counts:
			q.withhold(now)
		case q.Cost+q.Leaves == 1 && q.Meter.refuseFull(&q.Count, q.slot(), now, &q.Hit):
			// The refusal is counted as by Admit, folded where possible.
		default:
			q.Meter.countRefused(q.slot(), now, &q.Hit, q.Cost, true)
		}
	}
}

// withhold judges q, and records its cost as offered and not admitted.
func (q *Question) withhold(now Instant) {
	m, h := q.Meter, &q.Hit
	q.Count, q.Kept = Count{}, false
	if m.locked(*h, func(s *slot) {
		m.fit(s, h.at)
		q.withholdIn(s, m.expire(s, now))
	}) {
		return
	}
	if q.Count.Fits = true; q.Judges {
		m.guessAt(&q.Count, now, h, q.Cost+q.Leaves)
		q.noteKept(0)
	}
	switch {
	case !q.Counts:
	case h.at != noSlot: // it was given to another key
		var c Count
		m.lost(&c, now, h, q.Cost)
	case !q.Count.Fits:
		m.refused.Note(h.index)
	}
}

// withholdIn is withhold in q's own slot, which is locked and expired.
func (q *Question) withholdIn(s *slot, t stamp) {
	m := q.Meter
	if q.Count.Fits = true; q.Judges {
		m.count(&q.Count, s, t, q.Cost+q.Leaves)
		q.wait(0)
		q.noteKept(0)
	}
	switch {
	case !q.Counts:
	case q.Count.Fits: // it was not this rule that refused the key
		m.passOver(s, q.Hit.at, t, q.Cost)
	case m.countDenied:
		m.refuseCounted(s, q.Hit.at, t, q.Cost)
	default:
		m.refuse(s, q.Hit.at, t, q.Cost)
		m.allowFolds(s, t)
	}
}

// lockAll locks the slots of all, each once, in the order of their places. Returns how many, and
// the questions in order.
func lockAll(all []Question, order *[MaxQuestions]uint8) (held int) {
	for i := range all {
		at := all[i].Hit.at
		if at == noSlot {
			continue
		}
		k := held
		for k > 0 && all[order[k-1]].Hit.at > at {
			k--
		}
		if k > 0 && all[order[k-1]].Hit.at == at {
			continue // another question about the same key
		}
		// most requests ask two or three: a call of copy would take longer
		for n := held; n > k; n-- {
			order[n] = order[n-1]
		}
		order[k] = uint8(i) // below MaxQuestions
		held++
	}
	for _, i := range order[:held] {
		all[i].slot().mu.Lock()
	}
	return held
}

// unlockAll undoes lockAll.
func unlockAll(all []Question, order *[MaxQuestions]uint8, held int) {
	for _, i := range order[:held] {
		all[i].slot().mu.Unlock()
	}
}

// judge sets q.Count and q.t, the slot being locked. Earlier questions of the request about the
// same key count as if admitted.
func (q *Question) judge(now Instant, earlier []Question) {
	m := q.Meter
	q.Count, q.Fills, q.Kept = Count{}, false, false
	if q.Hit.at == noSlot || q.slot().index.Load() != uint64(q.Hit.index) {
		m.guessAt(&q.Count, now, &q.Hit, q.Cost+q.Leaves)
		q.Count.Heed(m, now, q.Known)
		q.Count.Fits = q.Count.Fits || !q.Judges
		q.noteKept(0)
		return
	}
	s, before := q.slot(), int64(0)
	m.fit(s, q.Hit.at)
	if q.t = m.expire(s, now); s.admitted.n == 0 || s.refusals != 0 {
		m.recall(s, q.t)
	}
	if !q.Judges {
		q.Fills = m.used(s, q.t.now)+q.Cost >= m.admits(s, q.t.now) ||
			s.full.until() > q.t.now && !s.full.held(q.t.now)
		m.count(&q.Count, s, q.t, 0)
		q.Count.Fits = true
		return
	}
	for i := range earlier {
		if e := &earlier[i]; e.Hit.at == q.Hit.at && e.Counts && e.Count.Fits {
			before += e.Cost
		}
	}
	m.count(&q.Count, s, q.t, before+q.Cost+q.Leaves)
	q.wait(before)
	q.noteKept(before)
	q.Count.Used = min(q.Count.Used+before, max(q.Count.Used, m.ceiling()))
}

// wait has q fit if q may wait for tokens, after Count: before is the cost of earlier questions of
// the request. If not for long enough, Count.Wait is the whole wait.
func (q *Question) wait(before int64) {
	c := &q.Count
	if c.Fits || q.Patience <= 0 || !q.Meter.tokens || before+q.Cost+q.Leaves > q.Meter.limit {
		return
	}
	if c.Fits = c.Wait <= q.Patience; !c.Fits {
		c.Wait -= q.Patience
	}
}

// noteKept sets q.Kept, after Count: before is the cost of earlier questions of the request.
func (q *Question) noteKept(before int64) {
	q.Kept = !q.Count.Fits && q.Leaves > 0 && q.Count.Used+before+q.Cost <= q.Meter.ceiling()
}

// write records q, the slot being locked, as admitted if pass.
func (q *Question) write(now Instant, pass bool) {
	if !q.Counts {
		return
	}
	m := q.Meter
	if q.Hit.at == noSlot {
		switch {
		case !q.Count.Fits:
			m.refused.Note(q.Hit.index)
		case pass && m.loud(&q.Hit):
			m.takeBrief(&Count{}, now, &q.Hit, q.Cost, true)
		}
		return
	}
	switch s := q.slot(); {
	case s.index.Load() != uint64(q.Hit.index):
		var c Count
		m.lost(&c, now, &q.Hit, q.Cost)
	case !q.Count.Fits && m.countDenied && !q.Kept:
		m.refuseCounted(s, q.Hit.at, q.t, q.Cost)
		m.count(&q.Count, s, q.t, q.Cost+q.Leaves)
	case !q.Count.Fits:
		m.refuse(s, q.Hit.at, q.t, q.Cost)
	case pass:
		m.push(s, q.Hit.at, q.t, q.Cost)
		q.Count.Used, q.Count.Reset = m.used(s, q.t.now), m.reset(s, q.t)
	default:
		m.passOver(s, q.Hit.at, q.t, q.Cost)
	}
}

// passOver records cost as offered and not admitted in the expired slot at place at, for a request
// refused by another rule. The key is not counted as refused by this rule.
func (m *Meter) passOver(s *slot, at int, t stamp, cost int64) {
	if m.shared {
		m.c.sync.addPending(s, at, t.now, 0, cost)
	}
	m.recordRefused(s, t, t.now, cost)
}
