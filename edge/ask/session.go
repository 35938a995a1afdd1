package ask

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Session is the memory of a request at a time, for a single goroutine: about 28 KiB, used again
// and again. It must not be copied.
type Session struct {
	Request request.Request // filled in by the door between Begin and Decide
	CanWait bool            // likewise: the sender can wait before it lets the request pass
	// CanDeceive is likewise: the sender can pretend a denied request passed.
	CanDeceive bool
	// likewise, of a report: the cost in the end, as wire.ParseCost has it; 0: as the policies say
	Cost, Millionths uint32
	// likewise: how long the request took; NoTime, or OddTime in an unknown unit
	Took time.Duration

	Door Door // of those that ask by this session, for Stats.Unfit
	// Also are the rules requests may ask without policies.
	Also []mitigation.Rule

	reader   request.Reader
	room     *Room
	shelf    chan *Session // see Borrow; nil: it is not lent
	in       *inForce
	result   policy.Result
	together gate.Together
	record   record // of a ticket
	several  several
	reply    Answer // of Decide
	client   []byte // text of it
	parts    [gate.MaxQuestions]gate.Parts
	pretends bool // the answer deceives: Decisions shows none
	at       window.Instant
	chance   uint64 // state of the draws
}

// NewSession returns the memory for requests to r.
func (r *Room) NewSession() *Session {
	return &Session{room: r, chance: rand.Uint64()} //nolint:gosec // nobody sees the draws
}

// At returns the time of the last Decide.
func (s *Session) At() window.Instant { return s.at }

// Room returns the room that s asks.
func (s *Session) Room() *Room { return s.room }

// Begin empties s.Request for the next request and holds the policies in force. False: there are
// none.
func (s *Session) Begin() bool {
	s.in, s.together.N, s.CanWait, s.CanDeceive, s.pretends = s.room.now.Load(), 0,
		false, false, false
	s.Cost, s.Millionths = 0, 0
	s.Took = NoTime
	if s.in.engine == nil {
		s.Request.Reset(nil)
	} else {
		s.Request.Reset(s.in.engine.Names())
	}
	// Knuth's generator, whose upper bits are random enough: nobody sees which requests are drawn.
	s.chance = s.chance*6364136223846793005 + 1442695040888963407
	s.Request.Sample = s.room.Draws(uint32(s.chance >> 32))
	return s.in.engine != nil
}

// noPolicies says who is a client where there are no policies.
var noPolicies = request.DefaultClients()

// Clients says who is a client under the policies of Begin.
func (s *Session) Clients() *request.Clients {
	if s.in.engine == nil {
		return &noPolicies
	}
	return s.in.engine.Clients()
}

// FindClient sets the client of s.Request, when peer and headers are there. given is the client
// named by the sender; the zero Addr is none.
func (s *Session) FindClient(given netip.Addr) { s.Request.FindClient(s.Clients(), given) }

// Read is Begin for a request of peer. The returned reader fills in s.Request, before Decide,
// Report or AddRequest.
func (s *Session) Read(peer netip.Addr) *request.Reader {
	s.Begin()
	s.reader.Begin(&s.Request, s.Clients(), peer)
	return &s.reader
}

// Decide decides s.Request in b at now. u is 64 random bits, for the number of a ticket. The answer
// lies in the session: valid until the next request.
//
// Where a reload changes the rules between Begin and here, and takes away a rule of a policy, the
// request is answered as if no policy matched.
func (s *Session) Decide(b *gate.Batch, now window.Instant, u uint64) *Answer {
	a := &s.reply
	*a = Answer{}
	a.Why, s.at = ByNone, now
	switch {
	case s.in.engine != nil:
		s.decide(a, b, now, u)
	case s.Request.Unfit != 0:
		s.unfit(a)
	}
	if s.Request.Sample {
		s.room.sampler.Keep(&s.Request, int64(now), a.Ticket, false)
	}
	return a
}

// decide is Decide by policies. The order: the decisions of policies by themselves, then pools
// (drawn first, as a held request still counts as offered), then the rules.
func (s *Session) decide(a *Answer, b *gate.Batch, now window.Instant, u uint64) {
	out := &s.result
	s.match(u)
	s.noteFaults()
	if s.Request.Unfit != 0 { // perhaps only since policies looked at it
		s.unfit(a)
		return
	}
	s.noteMatches(b, now)
	if out.Verdict != policy.Ask {
		s.final(a)
		return
	}
	by := shed{pool: -1}
	s.tried(a)
	if out.Pools.Enforced|out.Pools.Shadow != 0 {
		shadow := false
		by, shadow = s.judgePools(u << 48) // the bits that are in no ticket's number
		a.Shadow = a.Shadow || shadow
	}
	t := &s.together
	t.Held = by.pool >= 0
	known := s.judge(a, b)
	switch {
	// A rule denying is named before a pool, as the reason lasts longer than a draw.
	case t.Held && (a.Why == ByNone || !t.Deny):
		s.shedAnswer(a, by)
	case a.Why == ByRules:
		s.byRules(a, now, u)
	case known:
		a.Ticket = s.takeTicket(now, u) // of policies matching by the response alone
	}
}

// judge asks the questions. False: a reload took a rule away, and no question has a decision.
func (s *Session) judge(a *Answer, b *gate.Batch) (known bool) {
	t := &s.together
	if s.fill() == 0 {
		return true
	}
	if b.All(t) != nil {
		t.N = 0
		return false
	}
	if t.Deny || t.Shadow {
		s.note(b)
	}
	a.Why, a.Shadow = ByRules, a.Shadow || t.Shadow
	return true
}

// byRules answers as the answering question.
func (s *Session) byRules(a *Answer, now window.Instant, u uint64) {
	t := &s.together
	if a.Full = s.full(); t.By < 0 {
		a.Why = ByNone
		for i := range t.N {
			a.unnamed(&t.Decisions[i])
		}
		s.passes(a, now, u)
		return
	}
	a.Deny, a.By = t.Deny, &t.Decisions[t.By]
	o := &s.in.engine.Policy(s.result.Questions[t.By].Policy).OnDeny
	a.Silent = o.Silent
	if a.Deny {
		a.Status = StatusOf(a.By.Why)
		s.denied(a, o)
		return
	}
	s.passes(a, now, u)
}

// passes gives a, an allow by questions, its ticket and its delay.
func (s *Session) passes(a *Answer, now window.Instant, u uint64) {
	if a.Ticket = s.takeTicket(now, u); s.CanWait {
		a.Delay = s.together.Delay()
	}
}

// matchEvery is the sampling interval of matching times in requests: two readings of the clock take
// half as long as policies do.
const matchEvery = 256

// match finds the questions of the policies. The time is taken of a request in matchEvery, drawn by
// u.
func (s *Session) match(u uint64) {
	if u%matchEvery != 0 {
		s.in.engine.Evaluate(&s.Request, &s.result)
		return
	}
	began := s.room.gate.Now()
	s.in.engine.Evaluate(&s.Request, &s.result)
	s.room.matching.Note(max(0, s.room.gate.Now().Sub(began)))
}

// noteMatches adds the request to the tallies of the matching policies. Tallies are added to in the
// batch's memory first, and from there once a batch.
func (s *Session) noteMatches(b *gate.Batch, now window.Instant) {
	pending := b.Pending()
	s.result.Matched(func(p int) {
		t := s.in.tallies[p]
		pending.Add(&t.Matched, 1)
		// the resolution of Tally.Seen in nanoseconds.
		// a store would take longer than the rest
		if int64(now)-t.Seen.Load() >= int64(time.Millisecond) {
			t.Seen.Store(int64(now))
		}
	})
}

// noteFaults counts the faults of the request in the policies' reading.
func (s *Session) noteFaults() {
	if n := s.result.Dropped; n > 0 {
		s.room.leaveOut(n, s.result.Left)
	}
	if n := s.result.BadCosts; n > 0 {
		s.room.badCosts.Add(uint64(n)) // above 0
	}
	if n := s.Request.Unreadable; n > 0 {
		s.room.badFields.Add(uint64(n)) // above 0
	}
	if s.Request.Found == request.FoundUnreadable {
		s.room.unreadable.Add(1)
	}
}

// final answers a request a policy decides by itself.
func (s *Session) final(a *Answer) {
	out := &s.result
	p := s.in.engine.Policy(out.Policy)
	s.tried(a)
	a.Why, a.Policy = BySkip, p.Name
	if out.Verdict == policy.Deny {
		s.in.tallies[out.Policy].Denied[byPolicy].Add(1)
		a.Why, a.Deny = ByPolicy, true
		if s.denied(a, &p.OnDeny); a.Deny {
			a.Status = out.Status // deny names it
		}
	}
}

// until returns the end of a ticket's time.
func (s *Session) until(now window.Instant) window.Instant {
	return now.Add(time.Duration(s.room.keep.Load()))
}
