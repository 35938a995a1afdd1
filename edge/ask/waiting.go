package ask

import (
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// A request which may count by the response holds a place from the answer until the report, so no
// more such requests are under way than the limit has room for:
//
//	Decide ──place──► table ──report, eviction or time──► free
//
// The table is the node's own under any scope, and lives as long as the room.

// WaitingBytes returns the memory of the places of requests with so many bytes for their tickets:
// each has a ticket.
func WaitingBytes(ticketBytes int64) int64 { return ticketBytes / placeBytes * lease.Bytes }

// setWaits finds how the policies of f wait, after those of was. ticketBytes is the memory of
// tickets.
func (f *inForce) setWaits(was *inForce, ticketBytes int, keep time.Duration) {
	var names []string
	f.waiting = was.waiting
	for i := range f.tallies {
		if f.engine.Policy(i).Waits() {
			names = append(names, f.engine.Policy(i).Name)
		}
	}
	if len(names) > 0 && f.waiting == nil {
		f.waiting = lease.New(WaitingBytes(int64(ticketBytes)))
	}
	if f.waiting == nil {
		return
	}
	f.waiting.SetRules(names)
	f.waits = make([]gate.Waits, len(f.tallies))
	for i := range f.waits {
		if p := f.engine.Policy(i); p.Waits() {
			f.waits[i] = gate.Waits{
				Table: f.waiting, Under: f.waiting.RuleNumber(p.Name),
				Most: int64(p.Pending), For: keep,
			}
		}
	}
}

// unreported reports whether the places of policy i ended by time, in a row.
func (f *inForce) unreported(i int) bool {
	if f.waits == nil || f.waits[i].Table == nil {
		return false
	}
	return f.waiting.Silent(f.waits[i].Under)
}

// setWaits has to hold a place if q may count by the response.
func (s *Session) setWaits(to *gate.Question, q *policy.Question) {
	if s.in.waits == nil || !q.Later || !q.Judges || q.Counts {
		return
	}
	if w := &s.in.waits[q.Policy]; w.Table != nil {
		to.Waits = w
	}
}

// answered reports whether the report in s.Request is of a response: a hung-up client had no
// response.
func (s *Session) answered() bool {
	// the status logged by nginx for a client gone before the response.
	return s.Request.Status != 0 && s.Request.Status != 499
}

// heard notes a report, counting or not, of the policy of a question, of the generation in.
func (s *Session) heard(in *generation, p policy.Pending, counts bool) {
	if in.number == s.in.tickets.number && s.in.engine != nil {
		s.reported(s.in.engine.Asking(int(p.Policy)), counts)
	}
}

// awaited notes a ticket for policy number.
func (s *Session) awaited(number int, now window.Instant) {
	if t := s.in.tallies[number]; t.vain.Add(1) == 1 {
		t.since.Store(int64(now))
	}
}

// reported notes a report, counting or not, of policy number.
func (s *Session) reported(number int, counts bool) {
	t := s.in.tallies[number]
	if t.Reports.Add(1); counts {
		t.Counted.Add(1)
	}
	t.vain.Store(0)
	if s.in.waits != nil && s.in.waits[number].Table != nil {
		s.in.waiting.Heard(s.in.waits[number].Under)
	}
}

// endPlaces ends the places of a record, if ending: else until the time.
func (r *Room) endPlaces(now window.Instant, ended record, end bool) {
	table := r.now.Load().waiting
	if table == nil || !end {
		return
	}
	for n := range ended.places() {
		table.ReleaseByNumber(now, n)
	}
}

// endOldest ends the oldest place of each key the report in s.result, of a sender without tickets,
// is about.
func (s *Session) endOldest(now window.Instant) {
	for i := range s.result.N {
		q := &s.result.Questions[i]
		if s.reported(q.Policy, q.Counts); s.in.waits == nil || s.in.waits[q.Policy].Table == nil {
			continue
		}
		if index, ok := s.room.gate.Index(q.Name, q.Key); ok && (q.Counts || s.answered()) {
			s.in.waiting.Release(now, index, 0)
		}
	}
}

// Waiting returns the cost waiting under key of the rule called name at now, for people.
func (r *Room) Waiting(now window.Instant, name, key []byte) int64 {
	table := r.now.Load().waiting
	index, ok := r.gate.Index(name, key)
	if table == nil || !ok {
		return 0
	}
	table.Begin(now)
	defer table.End()
	return table.Used(index)
}
