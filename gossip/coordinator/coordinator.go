package coordinator

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Options are the dependencies of a Coordinator. All but Budget are required.
type Options struct {
	// Name and PoP are this node's. Names are unique among the members.
	Name, PoP string
	// Secret is the cluster's: it decides who owns a key.
	Secret []byte
	// Rule returns the rule called name, and false unless its scope is global and its mode not off.
	Rule func(name string) (mitigation.Rule, bool)
	// Flush is the interval between calls of Measure.
	Flush time.Duration
	// Batch is the interval between calls of Tick.
	Batch time.Duration
	// Budget is the mean number of bytes per second to send; 0 means DefaultBudget.
	Budget int
	// Seed is the seed of the nonces, drawn anew at every start.
	Seed uint64

	// Send sends packet to the member called to, best effort. It must not keep packet, and is never
	// called with Name.
	Send func(to string, packet []byte)
	// Spread sends record to all members, in place of the previous record under name.
	Spread func(name string, record []byte)
	// Apply takes the advice for a key measured at this node. It must not keep the slices of
	// advice.
	Apply func(now window.Instant, advice Advice)
}

// DefaultBudget is the default of Options.Budget, bytes per second.
const DefaultBudget = 64 << 10

// Bounds of a Coordinator's memory. A record beyond them is dropped and counted in Stats.Full.
const (
	// MaxLocals bounds the keys measured at this node.
	MaxLocals = 1 << 16
	// MaxReporterKeys bounds the keys reported for the PoP.
	MaxReporterKeys = 1 << 16
	// MaxOwnedKeys bounds the keys owned or stood by for.
	MaxOwnedKeys = 1 << 16
	// MaxHints bounds the keys to be reported however small their rate.
	MaxHints = 1 << 16
	// maxOrigins bounds the origins of one key.
	maxOrigins = 4096
	// maxSubscribers bounds the nodes, or reporters, that one key is answered to.
	maxSubscribers = 4096
)

// Coordinator is one node's part in the control loop. It holds a key in up to three roles: as the
// node that measures it (local), as its PoP's reporter (reporterKey) and as its owner or standby
// (ownedKey). It is not safe for concurrent use, and calls the functions in Options from within its
// methods.
type Coordinator struct {
	o          Options
	assignment *Assignment
	// previous is the assignment before a change that the next Tick handles; nil for none.
	previous *Assignment
	// absent holds PoPs without members, and since when.
	absent map[string]window.Instant
	// carriesUntil is the end of the time in which sums from before a change of members are
	// believed.
	carriesUntil window.Instant
	// ahead is the wall clock minus the instant, milliseconds.
	ahead int64
	// incarnation is the wall time of the start, Unix milliseconds. It orders hints over restarts.
	incarnation uint64
	// sequence numbers packets and hints.
	sequence uint64
	// secret keys the session numbers.
	secret [16]byte
	dice   *rand.Rand

	locals       map[id]*local
	reporterKeys map[reporterKeyID]*reporterKey
	ownedKeys    map[id]*ownedKey
	// visits are the keys of each role in ten parts: every tick visits one part.
	visits struct {
		locals       roundRobin[*local]
		reporterKeys roundRobin[*reporterKey]
		ownedKeys    roundRobin[*ownedKey]
	}
	// dirty are the owned keys with a report since the last tick.
	dirty []*ownedKey
	// hints are the keys to be reported however small their rate.
	hints map[id]hint
	// restored are keys from before a restart that were not measured yet, at most MaxRestored.
	restored map[id]restored
	// restoredUntil is the end of the time in which restored matters.
	restoredUntil window.Instant
	// quotas bound the hints of each owner.
	quotas map[string]*quota
	peers  map[string]*peer
	out    map[string]*outgoing
	// rounds counts ticks.
	rounds int
	budget budget

	// load scales the steps from which counts are sent, 1..8: see load.go.
	load       float64
	overloaded bool
	// relieved is the end of the last overload; 0 for never.
	relieved window.Instant
	// loadDecay is the time in which load falls to 1/e.
	loadDecay time.Duration

	scratch []byte
	due     []dueReport
	stats   Stats
}

// New returns a Coordinator with no members but itself; see SetAssignment. now is the start, wall
// its wall time.
func New(o Options, now window.Instant, wall time.Time) *Coordinator {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	c := &Coordinator{
		o: o, incarnation: uint64(wall.UnixMilli()), dice: rand.New(rand.NewPCG(o.Seed, uint64(now))), //nolint:gosec // nonces are seeded by the caller, from the system's own chance
		assignment: NewAssignment(o.Secret, []Member{{o.Name, o.PoP}}),
		absent:     make(map[string]window.Instant), locals: make(map[id]*local), reporterKeys: make(map[reporterKeyID]*reporterKey), ownedKeys: make(map[id]*ownedKey),
		hints: make(map[id]hint), restored: make(map[id]restored), quotas: make(map[string]*quota), peers: make(map[string]*peer), out: make(map[string]*outgoing),
		budget: newBudget(o.Budget, now), load: 1, loadDecay: loadDecay,
	}
	c.setClock(now, wall)
	binary.LittleEndian.PutUint64(c.secret[:], c.dice.Uint64())
	binary.LittleEndian.PutUint64(c.secret[8:], c.dice.Uint64())
	return c
}

// SetAssignment puts s in force. The next Tick hands keys over.
func (c *Coordinator) SetAssignment(s *Assignment) {
	if c.previous == nil {
		c.previous = c.assignment
	}
	c.assignment = s
}

// Assignment returns the assignment in force.
func (c *Coordinator) Assignment() *Assignment { return c.assignment }

// Sample is a key measured at this node: see control.Sample.
type Sample = control.Sample

// Advice is the outcome for a key at this node: see control.Advice.
type Advice = control.Advice

// Receive handles a packet that another member sent to this node. Packets of strangers, replays and
// packets with a wrong clock are rejected and counted.
func (c *Coordinator) Receive(now window.Instant, wall time.Time, packet []byte) {
	c.setClock(now, wall)
	h, rest, ok := parseHeader(packet)
	if !ok {
		c.stats.reject(rejectMalformed)
		return
	}
	if _, known := c.assignment.PoP(h.sender); !known || h.sender == c.o.Name {
		c.stats.reject(rejectStranger)
		return
	}
	if !c.timely(now, h) {
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

// record handles one record of a packet.
func (c *Coordinator) record(now window.Instant, h header, k kind, body []byte) {
	if k == 0 || k >= kinds || k == kindHint {
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
		c.receiveAsk(now, h, &r)
	case kindReport:
		c.receiveReport(now, h, &r)
	case kindView:
		c.receiveWitness(now, h, &r)
	case kindAdvice:
		c.receiveAdvice(now, h, &r)
	}
}

// Tick advances the coordinator by one batch: budget, assignment, and all keys whose turn it is.
func (c *Coordinator) Tick(now window.Instant, wall time.Time) {
	c.setClock(now, wall)
	c.rounds++
	c.adjust(now)
	c.refill(now)
	c.handOver(now)
	c.tickLocals(now)
	c.tickReported(now)
	c.tickOwned(now)
	c.tickHints(now)
	c.tickRestored(now)
	c.send()
}

// calm reports whether a tick may visit all keys, whatever its turn.
func (c *Coordinator) calm() bool { return !c.overloaded }

// Lift forgets the evidence against a key, here and in its aggregate, after an operator lifted its
// flag.
func (c *Coordinator) Lift(rule string, key []byte) {
	k := id{rule, string(key)}
	if b := c.ownedKeys[k]; b != nil {
		b.aggregate.Lift()
	}
	if l := c.locals[k]; l != nil {
		l.view, l.viewed, l.blocked = control.GlobalView{}, 0, 0
	}
	for _, alone := range []bool{false, true} {
		if d := c.reporterKeys[reporterKeyID{k, alone}]; d != nil {
			d.witnesses = ordered[string, witness]{}
		}
	}
}
