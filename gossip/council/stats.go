package council

import (
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Reject is why something that came was not believed.
type Reject uint8

// The reasons.
const (
	rejectMalformed Reject = iota
	rejectStranger         // of nobody known, or of another PoP than it speaks for
	rejectReplay
	rejectTime // too old, or from the future
	rejectKind // of a later version
	rejectUnasked
	rejectRule // this node does not share such a rule with the world
	rejectQuota
	Rejects // how many there are
)

var rejectNames = [...]string{
	rejectMalformed: "malformed", rejectStranger: "stranger", rejectReplay: "replay", rejectTime: "time",
	rejectKind: "kind", rejectUnasked: "unasked", rejectRule: "rule", rejectQuota: "quota",
}

// String returns the word that metrics use.
func (r Reject) String() string { return rejectNames[r] }

var kindNames = [...]string{"", kindAsk: "ask", kindDemand: "demand", kindView: "view", kindAdvice: "advice", kindNotice: "notice"}

// Kinds is how many kinds of records there are, the zeroth being none.
const Kinds = int(kinds)

// KindName returns the word that metrics use for kind n, "" for 0.
func KindName(n int) string { return kindNames[n] }

// Stats is how a Council stands. Counts are since start and only grow.
type Stats struct {
	Locals, Desks, Books, Wakes int // keys measured, reported for the PoP, owned or stood by for, woken
	Shed, Guarded               int // keys in books that are shed; whose origins are silent together
	MostDebt                    float64
	Pressed                     bool // too much is to be told for the budget: counts are not, rates are

	PacketsIn, PacketsOut, BytesOut uint64
	RecordsIn, RecordsOut           [Kinds]uint64
	Rejected                        [Rejects]uint64
	Deferred                        uint64 // reports, answers and notices put off for want of budget
	Full                            uint64 // times that there was no room to remember something
}

func (s *Stats) reject(why Reject) { s.Rejected[why]++ }

// Stats reads how c stands. It looks at every book.
func (c *Council) Stats() Stats {
	s := c.stats
	s.Pressed = c.pressed
	s.Locals, s.Desks, s.Books, s.Wakes = len(c.locals), len(c.desks), len(c.books), len(c.wakes)
	for _, b := range c.books {
		if b.account.Shed() {
			s.Shed++
		}
		if b.account.Guarded() {
			s.Guarded++
		}
		s.MostDebt = max(s.MostDebt, b.account.Debt())
	}
	return s
}

// Standing is how a key stands in the world, as this node knows it.
type Standing struct {
	View     mitigation.View
	Viewed   window.Instant // when, 0: never
	Rate     float64        // offered in this PoP, cost a second
	Alone    bool           // this node counts alone
	Ratio    mitigation.Ratio
	Unheard  int64  // as in Advice
	Reporter string // of this PoP
	Owner    string
	Standby  string
	Woken    bool
	Shares   []mitigation.Share // of every PoP, where this node adds them up; else none
}

// Explain returns how a key stands.
func (c *Council) Explain(now window.Instant, rule string, key []byte) (s Standing) {
	k := id{rule, string(key)}
	shard := c.seats.shard(k)
	s.Reporter, _ = c.seats.reporters(c.o.PoP, shard)
	s.Owner, s.Standby = c.seats.Owners(rule, k.key)
	w, woken := c.wakes[k]
	s.Woken = woken && w.until > now
	if b := c.books[k]; b != nil {
		s.Shares = b.account.Shares(now)
	}
	if l := c.locals[k]; l != nil {
		s.View, s.Viewed, s.Rate, s.Alone = l.view, l.viewed, l.demand.Rate, l.alone
		if c.fresh(now, l) {
			s.Ratio, s.Unheard = c.ratio(l), l.unheard()
		}
	}
	return s
}
