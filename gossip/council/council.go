package council

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Options is what a Council is made of.
type Options struct {
	Name, PoP string                                    // of this node; among the members names are unique
	Secret    []byte                                    // of the cluster: who owns a key
	Rule      func(name string) (mitigation.Rule, bool) // of scope global and not off; false for any other
	Flush     time.Duration                             // between two calls of Measure
	Batch     time.Duration                             // between two calls of Tick
	Budget    int                                       // bytes a second to send on average; 0: DefaultBudget
	Seed      uint64                                    // of the nonces; to be drawn anew at every start

	Send   func(to string, packet []byte)          // best effort, must not keep packet; never called with Name
	Spread func(name string, record []byte)        // to everybody, in place of what was spread under name before
	Apply  func(now window.Instant, advice Advice) // what a key measured here is to be done to
}

// DefaultBudget is what a node may send on average, bytes a second.
const DefaultBudget = 64 << 10

// Bounds of what a Council remembers.
const (
	MaxLocals = 1 << 16 // keys measured here
	MaxDesks  = 1 << 16 // keys reported for the PoP
	MaxBooks  = 1 << 16 // keys owned or stood by for
	MaxWakes  = 1 << 16 // keys to be reported however small their share is
	maxOrigin = 4096    // a key
	maxReader = 4096    // a key
)

// Council is one node's part in agreeing on ratios. It is not safe for concurrent use, and calls what Options holds from
// within its methods.
type Council struct {
	o           Options
	seats       *Seats
	before      *Seats                    // that a change is still to be taken in of; nil: there is none
	absent      map[string]window.Instant // PoPs that there were, since when they are not
	presumes    window.Instant            // until when what was known before a change of seats is believed
	incarnation uint64
	sequence    uint64
	secret      [16]byte // of the sessions
	dice        *rand.Rand

	locals map[id]*local
	desks  map[deskID]*desk
	books  map[id]*book
	turns  struct {
		locals rota[*local]
		desks  rota[*desk]
		books  rota[*book]
	}
	dirty  []*book // that something was reported to since the last tick
	wakes  map[id]wake
	quotas map[string]*quota // of notices, by owner
	peers  map[string]*peer
	out    map[string]*outgoing
	rounds int // ticks so far
	budget budget

	pressure float64 // 1: all that moves is told, as far as tokens go
	pressed  bool
	relieved window.Instant // when it was last, 0: never
	eases    time.Duration  // in which pressure falls to a third

	scratch []byte
	due     []due
	stats   Stats
}

// New returns a Council that knows no members yet; see SetSeats. now is the start.
func New(o Options, now window.Instant) *Council {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	c := &Council{
		o: o, incarnation: uint64(int64(now) / int64(time.Millisecond)), dice: rand.New(rand.NewPCG(o.Seed, uint64(now))), //nolint:gosec // nonces are seeded by the caller, from the system's own chance
		seats:  NewSeats(o.Secret, []Member{{o.Name, o.PoP}}),
		absent: make(map[string]window.Instant), locals: make(map[id]*local), desks: make(map[deskID]*desk), books: make(map[id]*book),
		wakes: make(map[id]wake), quotas: make(map[string]*quota), peers: make(map[string]*peer), out: make(map[string]*outgoing),
		budget: newBudget(o.Budget, now), pressure: 1, eases: pressureOff,
	}
	binary.LittleEndian.PutUint64(c.secret[:], c.dice.Uint64())
	binary.LittleEndian.PutUint64(c.secret[8:], c.dice.Uint64())
	return c
}

// SetSeats makes s what decides who does what.
func (c *Council) SetSeats(s *Seats) {
	if c.before == nil {
		c.before = c.seats
	}
	c.seats = s
}

// Seats returns what decides who does what.
func (c *Council) Seats() *Seats { return c.seats }

// Measured is what this node knows of a key that was asked for here since it last measured.
type Measured = mitigation.Measured

// Advice is what is to be done to a key.
type Advice = mitigation.Advice

// Receive takes in a packet that another member sent to this node.
func (c *Council) Receive(now window.Instant, packet []byte) {
	h, rest, ok := parseHeader(packet)
	if !ok {
		c.stats.reject(rejectMalformed)
		return
	}
	if _, known := c.seats.PoP(h.sender); !known || h.sender == c.o.Name {
		c.stats.reject(rejectStranger)
		return
	}
	if age := now.Sub(window.Instant(h.issued * int64(time.Millisecond))); age > tooOld || age < -tooOld {
		c.stats.reject(rejectTime)
		return
	}
	if !c.newer(now, h) {
		c.stats.reject(rejectReplay)
		return
	}
	c.stats.PacketsIn++
	for len(rest) > 0 {
		var k kind
		var body []byte
		if k, body, rest, ok = nextRecord(rest); !ok {
			c.stats.reject(rejectMalformed)
			break
		}
		c.record(now, h, k, body)
	}
	c.send()
}

// record takes in one record of a packet.
func (c *Council) record(now window.Instant, h header, k kind, body []byte) {
	if k == 0 || k >= kinds || k == kindNotice {
		c.stats.reject(rejectKind)
		return
	}
	r, err := parseRecord(k, body)
	if err != nil {
		c.stats.reject(rejectMalformed)
		return
	}
	c.stats.RecordsIn[k]++
	switch k {
	case kindAsk:
		c.askedFor(now, h, &r)
	case kindDemand:
		c.demanded(now, h, &r)
	case kindView:
		c.viewed(now, h, &r)
	case kindAdvice:
		c.advised(now, h, &r)
	}
}

// Tick does what time asks for, every Options.Batch.
func (c *Council) Tick(now window.Instant) {
	c.rounds++
	c.weigh(now)
	c.refill(now)
	c.handOver(now)
	c.tickLocals(now)
	c.tickDesks(now)
	c.tickBooks(now)
	c.tickWakes(now)
	c.send()
}

// calm reports whether a tick looks at everything, whatever its turn.
func (c *Council) calm() bool { return !c.pressed }

// Lift forgets what convicts a key, here and in what this node owns: an operator has lifted its flag.
func (c *Council) Lift(rule string, key []byte) {
	k := id{rule, string(key)}
	if b := c.books[k]; b != nil {
		b.account.Lift()
	}
	if l := c.locals[k]; l != nil {
		l.view, l.viewed, l.blocked = mitigation.View{}, 0, 0
	}
	for _, alone := range []bool{false, true} {
		if d := c.desks[deskID{k, alone}]; d != nil {
			clear(d.witnesses)
		}
	}
}
