package ask

import (
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// takeTicket stores the questions of the request that wait for its response, and the leases it
// holds, and returns the number of the ticket; 0 if there are none. A request that holds a lease
// and waits for nothing else needs no record: the lease is its ticket.
func (s *Session) takeTicket(now window.Instant, u uint64) uint64 {
	if !s.result.Later && !s.together.TakesPlaces() {
		return 0
	}
	waits, leases, places, until := false, uint8(0), uint8(0), now
	for i := range s.result.N {
		if s.result.Questions[i].Later {
			waits, until = true, max(until, s.until(now))
		}
		if i >= s.together.N {
			continue
		}
		switch d := &s.together.Decisions[i]; {
		case d.Lease == 0:
		case s.together.Questions[i].Waits != nil:
			places++
		default:
			leases, until = leases+1, max(until, now.Add(d.Rule.Lease))
		}
	}
	if !waits && leases == 0 {
		return 0
	}
	b := beginRecord(s.record, s.in.tickets.number, leases, places)
	for _, place := range [...]bool{false, true} {
		for i := range s.together.N {
			if n := s.together.Decisions[i].Lease; n != 0 &&
				place == (s.together.Questions[i].Waits != nil) {
				if !waits && leases == 1 {
					return n
				}
				b = b.addNumber(n)
			}
		}
	}
	for i := range s.result.N {
		if q := &s.result.Questions[i]; q.Later {
			b = b.add(q)
			s.awaited(q.Policy, now)
		}
	}
	s.record = b
	return s.room.addTicket(b, until, now, u)
}

// No times of a report.
const (
	NoTime  time.Duration = -1 - iota // not given
	OddTime                           // in an unknown unit
)

// noteTook notes how long the request of a report took.
func (s *Session) noteTook() {
	switch {
	case s.Took >= 0:
		s.room.responses.Note(s.Took)
	case s.Took == OddTime:
		s.room.oddTimes.Add(1)
	}
}

// Report ends the ticket of number with the response in s.Request: it counts the questions whose
// conditions hold, and gives the request's leases back. It reports false where the ticket is late:
// unknown, used or too old. Begin comes before it.
func (s *Session) Report(b *gate.Batch, now window.Instant, number uint64) bool {
	s.noteTook()
	if s.room.sampler != nil && s.Request.Status > 0 {
		s.room.sampler.Answered(number, s.Request.Status)
	}
	if lease.IsLease(number) {
		ok := s.room.gate.EndLease(now, number)
		if !ok {
			s.room.late.Add(1)
		}
		return ok
	}
	ended := s.room.end(now, s.record, number)
	s.record = ended
	counted := false
	// once the questions are counted
	defer func() { s.room.endPlaces(now, ended, counted || s.answered()) }()
	// By the policies in force at the question, possibly replaced since: the conditions on the
	// response are theirs.
	in := s.in.tickets.of(ended.generation())
	if !ended.fits(in) {
		s.room.late.Add(1)
		counted = true
		return false
	}
	t := &s.together
	t.N, t.Held = 0, false
	for rest := ended[ended.questionsAt():]; len(rest) > 0 && t.N < gate.MaxQuestions; {
		var w waiting
		w, rest, _ = rest.next()
		counts, cost, bad := in.settles.Settle(w.pending, w.counted, &s.Request)
		if counted = counted || counts; bad {
			s.room.badCosts.Add(1)
		}
		if given, ok := s.cost(in.rules[w.rule]); ok {
			cost = given
		}
		s.heard(in, w.pending, counts && uint64(cost) > w.counted)
		if was := uint32(w.counted); counts && was > 0 && cost != was { // the difference is settled
			a := gate.Ask{Rule: in.rules[w.rule], Key: w.key, InParts: true}
			a.Cost = max(cost, was) - min(cost, was)
			_ = b.Settle(&a, cost < was)
		}
		if !counts || w.counted > 0 || cost == 0 {
			continue
		}
		t.Questions[t.N] = gate.Question{Ask: gate.Ask{
			Op: gate.Count, Rule: in.rules[w.rule],
			Key: w.key, Cost: cost, InParts: true,
		}, At: w.rule}
		t.N++
	}
	if t.N > 0 {
		_ = b.All(t) // a rule a reload took away has nothing to count
	}
	return true
}

// cost returns the cost a report gives for all rules, in parts of the rule; false: none is given. A
// cost with more digits than the rule has counts as the next whole part.
func (s *Session) cost(rule []byte) (parts uint32, ok bool) {
	if s.Cost|s.Millionths == 0 {
		return 0, false
	}
	if r := s.room.gate.Rule(rule); r != nil {
		parts, _ = r.PartsOf(s.Cost, s.Millionths)
	}
	return parts, true
}

// end takes the ticket of number and gives the leases back. The result is the record, in the memory
// of b; empty: there is no such ticket.
func (r *Room) end(now window.Instant, b record, number uint64) record {
	ended, ok := r.tickets.Take(b[:0], number, now)
	if !ok {
		return b[:0]
	}
	r.free(now, ended)
	return ended
}

// free gives back the leases of a record.
func (r *Room) free(now window.Instant, ended record) {
	for n := range ended.leases() {
		r.gate.EndLease(now, n)
	}
}

// addTicket stores a record until then and returns the ticket's number. Without room the tickets
// ending first go, with leases.
func (r *Room) addTicket(b record, until, now window.Instant, u uint64) uint64 {
	if len(b) > mostTicketText {
		r.free(now, b)
		r.endPlaces(now, b, true)
		return 0
	}
	for {
		if number := r.tickets.Add(b, until, u); number != 0 {
			return number
		}
		var dropped [mostTicketText]byte
		first := r.tickets.First(dropped[:0], now)
		r.free(now, first)
		r.endPlaces(now, first, true)
	}
}

// Orphan ends the ticket of number, or the lease, because nobody has read the answer with the
// number. The leases end, and nothing of the request is counted. False: there was none.
func (r *Room) Orphan(now window.Instant, number uint64) bool {
	if lease.IsLease(number) {
		return r.gate.EndLease(now, number)
	}
	ended := r.end(now, nil, number)
	r.endPlaces(now, ended, true)
	return len(ended) > 0
}

// ReportAgain counts the questions of s.Request, filled in once more with the response, which count
// by the response. For senders without tickets, at the price of a second look at the policies, and
// no memory between the two.
func (s *Session) ReportAgain(b *gate.Batch) {
	s.noteTook()
	if s.Request.Sample {
		s.room.sampler.Keep(&s.Request, int64(b.Now()), 0, true)
	}
	if s.in.engine == nil {
		return
	}
	s.in.engine.Report(&s.Request, &s.result)
	s.noteFaults()
	// An unfit request counts under no rule, whatever its fate.
	if s.Request.Unfit != 0 {
		return
	}
	defer s.endOldest(b.Now()) // once the questions are counted
	if s.result.N > 0 {
		s.fill()
		for i := range s.together.N {
			q := &s.together.Questions[i]
			if cost, ok := s.cost(q.Rule); ok {
				q.Cost = cost
			}
		}
		s.together.Held = false
		_ = b.All(&s.together) // as in Report
	}
}
