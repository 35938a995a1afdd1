package ask

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// Bounds of the tickets.
const (
	TicketBytes = 5 << 20 // memory of all tickets, at most
	DefaultKeep = 60 * time.Second
)

// Room holds the policies in force and the tickets. Methods may be called concurrently.
type Room struct {
	gate    *gate.Gate
	now     atomic.Pointer[inForce]
	tickets *ticketStore
	bytes   int          // of tickets
	keep    atomic.Int64 // nanoseconds for which a ticket is good
	killed  atomic.Bool  // see Kill
	pools   atomic.Pointer[[]*pool.Pool]

	shelves [shelves]chan *Session // see Borrow

	dropped, badCosts, late, unreadable, badFields, oddTimes atomic.Uint64
	left                                                     atomic.Pointer[LeftOut]

	unfitBy [Doors][request.UnfitKinds]atomic.Uint64

	share   *atomic.Uint32 // of the requests to draw, of 2^32
	sampler Sampler

	matching  *latency.Histogram // of the time that policies took, of a request in matchEvery
	responses *latency.Histogram // of the times of requests, as reported
}

// inForce is a set of policies, immutable but for tallies. A single pointer: a request reads the
// set once, and sees no mixture of two configurations.
type inForce struct {
	engine  *policy.Engine // nil: there are no policies
	tickets *generation
	// of requests which may count by the response; nil: no policy holds places
	waiting *lease.Table
	waits   []gate.Waits // by policy; without a Table it has none
	pools   []*pool.Pool // by the number the engine knows them by
	tallies []*Tally     // by policy; kept across reloads by name
}

// Tally counts the decisions of a policy. Fields only grow, but for Seen.
type Tally struct {
	Matched atomic.Uint64          // requests it asked about, skipped or denied
	Denied  [reasons]atomic.Uint64 // of them, by reason: answers naming the policy or a rule asked
	Shadow  atomic.Uint64          // of them, that its shadow would have denied
	Counted atomic.Uint64          // counts told by reports
	Reports atomic.Uint64          // reports of its requests
	vain    atomic.Uint64          // tickets since the last report
	since   atomic.Int64           // when the first of these was given, a window.Instant
	Seen    atomic.Int64           // when it matched last, a window.Instant; 0: never
}

// Stats are totals since the room was made, unless marked "now".
type Stats struct {
	Tickets           uint64 // live now
	Pending           uint64 // places of requests waiting for their responses now
	PendingExpired    uint64 // those that ended by their time
	TicketsDropped    uint64 // those that end first, for want of room
	Late              uint64 // reports of tickets that are unknown, used or too old
	QuestionsDropped  uint64 // beyond the first 16 of a request
	BadCosts          uint64 // costs of visitors that were not one number, and counted as the most
	UnreadableClients uint64 // lists of addresses that could not be read to their end
	OddTimes          uint64 // times of reports in an unknown unit
	UnreadableFields  uint64 // fields by which proxies described requests, and nobody can read
	Unfit             [Doors][request.UnfitKinds]uint64
}

// New returns a room without policies asking g. bytes is the memory for tickets.
func New(g *gate.Gate, bytes int) *Room {
	bytes = min(bytes, TicketBytes)
	r := &Room{
		gate: g, bytes: bytes, matching: latency.Of(latency.Matching),
		responses: latency.Of(latency.Responses),
		tickets:   newTickets(bytes),
		share:     new(atomic.Uint32),
	}
	for i := range r.shelves {
		r.shelves[i] = stock()
	}
	r.now.Store(&inForce{tickets: &generation{}})
	r.keep.Store(int64(DefaultKeep))
	r.pools.Store(new([]*pool.Pool))
	return r
}

// Sampler is given the requests that are drawn, by whoever decides: it must not wait.
type Sampler interface {
	// Keep is given a request with all its headers, read only until it returns. ticket is of the
	// answer; report: r is of a report.
	Keep(r *request.Request, now int64, ticket uint64, report bool)
	// Answered is given the status of a response that was reported by ticket, drawn or not.
	Answered(ticket uint64, status int)
}

// Sample has to draw requests: share of 2^32, which may change. Before the first session.
func (r *Room) Sample(share *atomic.Uint32, to Sampler) { r.share, r.sampler = share, to }

// Draws reports whether the request is to be drawn for which u are random bits.
func (r *Room) Draws(u uint32) bool { return u < r.share.Load() }

// Set puts policies in force in a single step; nil means none. They were loaded for the rules all
// names, which must be in force at the gate, and for the pools of the last SetPools. keep is for
// how long a ticket is good. Set is for a single caller at a time.
func (r *Room) Set(e *policy.Engine, all []mitigation.Rule, keep time.Duration) {
	was := r.now.Load()
	if e != nil && e.Len() == 0 { // with numbers of rules alone
		e = nil
	}
	next := &inForce{engine: e, tickets: was.tickets.next(e, all), pools: *r.pools.Load()}
	if e != nil {
		for i := range e.Len() {
			next.tallies = append(next.tallies, was.tally(e.Policy(i).Name))
		}
	}
	next.setWaits(was, r.bytes, keep)
	r.keep.Store(int64(keep))
	r.killed.Store(false)
	r.left.Store(nil)
	r.now.Store(next)
}

// Kill notes the kill switch: every rule in another mode than enforce, or in the configured mode
// again. Until the next Set.
func (r *Room) Kill(on bool) { r.killed.Store(on) }

// Killed reports whether the kill switch is on: nothing is to deny.
func (r *Room) Killed() bool { return r.killed.Load() }

// tally returns the tally of the policy called name, a new tally if there is none.
func (f *inForce) tally(name string) *Tally {
	for i, t := range f.tallies {
		if f.engine.Policy(i).Name == name {
			return t
		}
	}
	return new(Tally)
}

// Stats returns the totals. Tickets whose time is over at now are dropped first.
func (r *Room) Stats(now window.Instant) Stats {
	r.tickets.Expire(now)
	s := Stats{
		Late: r.late.Load(), QuestionsDropped: r.dropped.Load(), BadCosts: r.badCosts.Load(),
		UnreadableClients: r.unreadable.Load(), UnreadableFields: r.badFields.Load(),
		OddTimes: r.oddTimes.Load(),
		Unfit:    r.unfitTotals(),
	}
	s.Tickets, s.TicketsDropped = r.tickets.Stats()
	if table := r.now.Load().waiting; table != nil {
		is := table.Stats(now)
		s.Pending, s.PendingExpired = uint64(is.Live), is.Expired // not negative
	}
	return s
}

// Figures are the totals of a policy.
type Figures struct {
	Name            string
	Matched, Shadow uint64
	Reports         uint64
	Counted         uint64         // counts told by reports
	Waiting         uint64         // tickets since the last report
	since           window.Instant // when the first of those was given
	Denied          Denials
	Seen            window.Instant // when it matched last; 0: never
	// the last places ended by time: the questions are never reported
	Unreported bool
}

// LeftOut is a rule a request did not ask, beside gate.MaxQuestions others.
type LeftOut struct {
	Rule string
	At   window.Instant
}

// LeftOut returns the last known, of each second the first; nil: none since the last Set.
func (r *Room) LeftOut() *LeftOut { return r.left.Load() }

// leaveOut counts n rules a request did not ask.
func (r *Room) leaveOut(n int, rule []byte) {
	r.dropped.Add(uint64(n)) // above 0
	now, was := r.gate.Now(), r.left.Load()
	if was == nil || now.Sub(was.At) > time.Second {
		r.left.Store(&LeftOut{string(rule), now})
	}
}

// InVain reports whether the policy waits for reports that do not come at now.
func (f *Figures) InVain(now window.Instant) bool {
	const tickets, after = 20, 10 * time.Second
	return f.Unreported || f.Waiting >= tickets && now.Sub(f.since) >= after
}

// Keep returns for how long a ticket is good.
func (r *Room) Keep() time.Duration { return time.Duration(r.keep.Load()) }

// Figures returns the figures of all policies in force, in the order of the file.
func (r *Room) Figures() []Figures {
	f := r.now.Load()
	all := make([]Figures, len(f.tallies))
	for i, t := range f.tallies {
		all[i] = Figures{
			Name: f.engine.Policy(i).Name, Matched: t.Matched.Load(), Shadow: t.Shadow.Load(),
			Denied: t.denials(), Reports: t.Reports.Load(), Counted: t.Counted.Load(),
			Waiting: t.vain.Load(), since: window.Instant(t.since.Load()),
			Seen: window.Instant(t.Seen.Load()), Unreported: f.unreported(i),
		}
	}
	return all
}

// AddMatching adds the times policies took to sum: from the request to the questions, of a request
// in 256.
func (r *Room) AddMatching(sum *latency.Sum) { sum.Add(r.matching) }

// AddResponses adds the times requests took, as reported, to sum.
func (r *Room) AddResponses(sum *latency.Sum) { sum.Add(r.responses) }

// Engine returns the policies in force, nil if there are none. Read only.
func (r *Room) Engine() *policy.Engine { return r.now.Load().engine }
