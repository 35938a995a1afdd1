package ask

import (
	"encoding/binary"
	"iter"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// takeTicket stores the questions of the request that wait for its response, and the leases that it
// holds, and returns the number of the ticket; 0 if there are none. A request that holds one lease
// and waits for nothing else needs no record: the lease is its ticket.
//
// The record is the number of the set of policies, the number of leases and each of them (8 bytes),
// then for each question:
//
//	policy, held (varints: see policy.Pending) · rule (varint) · cost counted so far · length of key · key
func (s *Session) takeTicket(now window.Instant, u uint64) uint64 {
	if !s.result.Later && !s.together.TakesPlaces() {
		return 0
	}
	waits, leases, until := false, uint8(0), now
	for i := range s.result.N {
		if s.result.Questions[i].Later {
			waits, until = true, max(until, s.until(now))
		}
		if i >= s.together.N {
			continue
		}
		if d := &s.together.Decisions[i]; d.Lease != 0 {
			leases, until = leases+1, max(until, now.Add(d.Rule.Lease))
		}
	}
	if !waits && leases == 0 {
		return 0
	}
	b := append(s.record[:0], s.in.number, leases)
	for i := range s.together.N {
		if n := s.together.Decisions[i].Lease; n != 0 {
			if !waits && leases == 1 {
				return n
			}
			b = binary.LittleEndian.AppendUint64(b, n)
		}
	}
	for i := range s.result.N {
		if q := &s.result.Questions[i]; q.Later {
			b = appendWaiting(b, q)
		}
	}
	s.record = b
	return s.room.tickets.Add(b, until, u)
}

// appendWaiting appends q to a ticket's record.
// Varints: most numbers are below 128, and a record of one question is its key and some five bytes.
func appendWaiting(b []byte, q *policy.Question) []byte {
	counted := uint64(0)
	if q.Counts {
		counted = uint64(max(q.Cost, 1))
	}
	for _, n := range [...]uint64{uint64(q.Pending.Policy), q.Pending.Held, uint64(q.Rule), counted, uint64(len(q.Key))} { // not negative
		b = binary.AppendUvarint(b, n)
	}
	return append(b, q.Key...)
}

// Report ends the ticket of that number with the response in s.Request: it counts what holds, and
// gives the request's leases back. It reports false where the ticket is late: unknown, used or too
// old. Begin comes before it.
func (s *Session) Report(b *gate.Batch, now window.Instant, number uint64) bool {
	if lease.IsLease(number) {
		ok := s.room.gate.EndLease(now, number)
		if !ok {
			s.room.late.Add(1)
		}
		return ok
	}
	record, ok := s.room.tickets.Take(s.record[:0], number, now)
	s.record = record
	var in *inForce
	if ok {
		// By the policies that asked, which may have been replaced since: the conditions on the response are theirs.
		in = s.in.set(record[0])
		for _, n := range leasesOf(record) {
			s.room.gate.EndLease(now, n)
		}
	}
	if in == nil || in.engine == nil {
		s.room.late.Add(1)
		return false
	}
	t := &s.together
	t.N, t.Held = 0, false
	for rest := record[2+8*int(record[1]):]; len(rest) > 0 && t.N < gate.MaxQuestions; {
		var w waiting
		w, rest = readWaiting(rest)
		counts, cost := in.engine.Settle(w.pending, &s.Request)
		if s.Cost > 0 {
			cost = s.Cost
		}
		// What was counted at first was more than the request cost in the end: the difference is given back.
		if cost = max(cost, 1); counts && uint64(cost) < w.counted {
			_ = b.Settle(in.rules[w.rule], w.key, int64(cost)-int64(w.counted)) // a cost
		}
		if !counts || uint64(cost) <= w.counted {
			continue
		}
		t.Questions[t.N] = gate.Question{
			Ask: gate.Ask{Op: gate.Count, Rule: in.rules[w.rule], Key: w.key, Cost: cost - uint32(w.counted)}, At: w.rule, // below cost
		}
		t.N++
	}
	if t.N > 0 {
		_ = b.All(t) // a rule that a reload took away has nothing to count
	}
	return true
}

// leasesOf yields the leases in a ticket's record, each with its place.
func leasesOf(record []byte) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for i := range int(record[1]) {
			if !yield(i, binary.LittleEndian.Uint64(record[2+8*i:])) {
				return
			}
		}
	}
}

// set returns the policies of that number, nil if they are gone.
// A number of 8 bits comes round after 256 reloads within a ticket's time.
func (f *inForce) set(number uint8) *inForce {
	switch {
	case f.number == number:
		return f
	case f.before != nil && f.before.number == number:
		return f.before
	}
	return nil
}

// waiting is one question of a ticket.
type waiting struct {
	pending policy.Pending
	rule    int
	counted uint64
	key     []byte
}

// readWaiting reads one question of a record that takeTicket wrote.
func readWaiting(b []byte) (w waiting, rest []byte) {
	var n [5]uint64
	for i := range n {
		v, size := binary.Uvarint(b)
		n[i], b = v, b[size:]
	}
	w.pending = policy.Pending{Policy: uint16(n[0]), Held: n[1]} // as they were written
	w.rule, w.counted = int(n[2]), n[3]                          // as above
	w.key = b[:n[4]]
	return w, b[n[4]:]
}

// ReportAgain counts what s.Request, filled in once more with its response, counts by that. It is
// for senders that keep no tickets.
// It costs a second look at the policies, and no memory between the two.
func (s *Session) ReportAgain(b *gate.Batch) {
	if s.in.engine == nil {
		return
	}
	s.in.engine.Report(&s.Request, &s.result)
	s.noteFaults()
	if s.result.N > 0 {
		s.fill()
		for i := range s.together.N {
			if q := &s.together.Questions[i]; s.Cost > 0 {
				q.Cost = s.Cost
			}
		}
		s.together.Held = false
		_ = b.All(&s.together) // as in Report
	}
}
