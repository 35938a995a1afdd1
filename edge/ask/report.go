package ask

import (
	"encoding/binary"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/window"
)

// takeTicket stores the questions of the request that wait for its response, and returns the number
// of the ticket; 0 if there are none.
//
// The record is the number of the set of policies, then for each question:
//
//	policy, held (varints: see policy.Pending) · rule (varint) · cost counted so far · length of key · key
func (s *Session) takeTicket(now window.Instant, u uint64) uint64 {
	waits := false
	for i := range s.result.N {
		waits = waits || s.result.Questions[i].Later
	}
	if !waits {
		return 0
	}
	b := append(s.record[:0], s.in.number)
	for i := range s.result.N {
		q := &s.result.Questions[i]
		if !q.Later {
			continue
		}
		counted := uint64(0)
		if q.Counts {
			counted = uint64(max(q.Cost, 1))
		}
		for _, n := range [...]uint64{uint64(q.Pending.Policy), q.Pending.Held, uint64(q.Rule), counted, uint64(len(q.Key))} { //nolint:gosec // not negative
			b = binary.AppendUvarint(b, n)
		}
		b = append(b, q.Key...)
	}
	s.record = b
	return s.room.tickets.add(b, s.until(now), u)
}

// Report ends the ticket of that number with the response in s.Request, and counts what holds. It
// reports false where the ticket is late: unknown, used or too old. Begin comes before it.
func (s *Session) Report(b *gate.Batch, now window.Instant, number uint64) bool {
	record, ok := s.room.tickets.take(s.record[:0], number, now)
	s.record = record
	var in *inForce
	if ok {
		in = s.in.set(record[0])
	}
	if in == nil || in.engine == nil {
		s.room.late.Add(1)
		return false
	}
	t := &s.together
	t.N = 0
	for rest := record[1:]; len(rest) > 0 && t.N < gate.MaxQuestions; {
		var w waiting
		w, rest = readWaiting(rest)
		counts, cost := in.engine.Settle(w.pending, &s.Request)
		if cost = max(cost, 1); !counts || uint64(cost) <= w.counted {
			continue
		}
		t.Questions[t.N] = gate.Question{
			Ask: gate.Ask{Op: gate.Count, Rule: in.rules[w.rule], Key: w.key, Cost: cost - uint32(w.counted)}, At: w.rule, //nolint:gosec // below cost
		}
		t.N++
	}
	if t.N > 0 {
		_ = b.All(t) // a rule that a reload took away has nothing to count
	}
	return true
}

// set returns the policies of that number, nil if they are gone.
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
	w.pending = policy.Pending{Policy: uint16(n[0]), Held: n[1]} //nolint:gosec // as they were written
	w.rule, w.counted = int(n[2]), n[3]                          //nolint:gosec // as above
	w.key = b[:n[4]]
	return w, b[n[4]:]
}

// ReportAgain counts what s.Request, filled in once more with its response, counts by that. It is
// for senders that keep no tickets.
func (s *Session) ReportAgain(b *gate.Batch) {
	if s.in.engine == nil {
		return
	}
	s.in.engine.Report(&s.Request, &s.result)
	s.noteFaults()
	if s.result.N > 0 {
		s.fill()
		_ = b.All(&s.together) // as in Report
	}
}
