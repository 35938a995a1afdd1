package coordinator

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/assignment"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Options are the dependencies of a Coordinator. All but Budget, Memory, Offset and Rest are
// required.
type Options struct {
	// Name and PoP are this node's. Names are unique among the members.
	Name, PoP string
	// Secret is the cluster's: decides who owns a key.
	Secret []byte
	// Rule returns the rule called name, and false unless the scope is global and the mode not off.
	Rule func(name string) (mitigation.Rule, bool)
	// Flush is the interval between calls of Measure.
	Flush time.Duration
	// Batch is the interval between calls of Tick.
	Batch time.Duration
	// Budget is the mean number of bytes per second to send; 0 means DefaultBudget.
	Budget int
	// Memory bounds the bytes of keys; 0 means DefaultMemory.
	Memory int64
	// Seed is the seed of the nonces, another at every start.
	Seed uint64

	// Send sends packet to the member called to, best effort, never Name. Send must not keep
	// packet.
	Send func(to string, packet []byte)
	// Counts is the table of the admissions of other PoPs of keys not measured here; nil: the node
	// takes no part in the exchange of counts from PoP to PoP.
	Counts *counts.Table
	// Offset returns by how much the wall clock is ahead of the clock by which the periods of the
	// samples are numbered; nil: Coordinator.Offset.
	Offset func() time.Duration
	// Rest is called between some of the samples of Measure, to let others run; nil: nothing is.
	Rest func()
	// Apply takes the advice for a key measured at this node, and must not keep advice's slices.
	Apply func(now window.Instant, advice Advice)
}

// DefaultBudget is the default of Options.Budget, bytes per second.
const DefaultBudget = 64 << 10

// Bounds of a key. A record beyond the bound is dropped and counted in Stats.Full.
const (
	// maxOrigins bounds the origins of a key.
	maxOrigins = 4096
	// maxSubscribers bounds the nodes, or reporters, of answers for a key.
	maxSubscribers = 4096
)

// Coordinator is a node's part in the control loop. A key has up to three roles: measured here
// (local), reported for the PoP (reporterKey) and owned here, or on standby (ownedKey). Not safe
// for concurrent use, and calls the functions in Options from within methods.
type Coordinator struct {
	o          Options
	assignment *assignment.Table
	// previous is the assignment before a change the next Tick handles; nil for none.
	previous *assignment.Table
	// absent holds PoPs without members, and since when.
	absent map[string]window.Instant
	// carriesUntil is the end of the time in which sums from before a change of members are
	// believed.
	carriesUntil window.Instant
	// sequence numbers packets.
	sequence uint64
	dice     *rand.Rand

	locals       map[packet.ID]*local
	reporterKeys map[reporterKeyID]*reporterKey
	ownedKeys    map[packet.ID]*ownedKey
	rules        map[string]*terms // by name
	// visits are the keys of each role in ten parts: every tick visits a part.
	visits struct {
		locals       roundRobin[*local]
		reporterKeys roundRobin[*reporterKey]
		ownedKeys    roundRobin[*ownedKey]
	}
	// dirty are the owned keys with a report since the last tick.
	dirty []*ownedKey
	// restored are keys from before a restart not measured yet, restoredBytes those that all took.
	restored      map[packet.ID]restored
	restoredBytes int
	// restoredUntil is the end of the time in which restored matters.
	restoredUntil window.Instant
	peers         *peers.Table
	out           map[string]*outgoing
	// started are the packets of out with something to send.
	started []*outgoing
	// rounds counts ticks.
	rounds int
	budget *budget
	memory memory
	// counts is the exchange of counts from PoP to PoP.
	counts exchange

	scratch []byte
	due     []dueReport
	stats   Stats
}

// New returns a Coordinator with no members but itself; see SetAssignment. now is the start, wall
// the wall time.
func New(o Options, now window.Instant, wall time.Time) *Coordinator {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	var secret [16]byte
	//nolint:gosec // nonces are seeded by the caller, from the system's own chance
	dice := rand.New(rand.NewPCG(o.Seed, uint64(now)))
	binary.LittleEndian.PutUint64(secret[:], dice.Uint64())
	binary.LittleEndian.PutUint64(secret[8:], dice.Uint64())
	c := &Coordinator{
		o:            o,
		dice:         dice,
		assignment:   assignment.New(o.Secret, []assignment.Member{{Name: o.Name, PoP: o.PoP}}),
		absent:       make(map[string]window.Instant),
		locals:       make(map[packet.ID]*local),
		reporterKeys: make(map[reporterKeyID]*reporterKey),
		ownedKeys:    make(map[packet.ID]*ownedKey),
		rules:        make(map[string]*terms),
		restored:     make(map[packet.ID]restored),
		out:          make(map[string]*outgoing),
		peers:        peers.New(o.Name, secret),
		budget:       newBudget(o.Budget, now),
		memory:       memory{most: o.Memory},
		counts:       newExchange(&o),
	}
	c.counts.assign(c.assignment, &o)
	c.setClock(now, wall)
	return c
}

// SetAssignment puts s in force. The next Tick hands keys over.
func (c *Coordinator) SetAssignment(s *assignment.Table) {
	if c.previous == nil {
		c.previous = c.assignment
	}
	c.assignment = s
	clear(c.rules) // what is believed of a PoP depends on how many there are
	c.counts.assign(s, &c.o)
}

// Assignment returns the assignment in force.
func (c *Coordinator) Assignment() *assignment.Table { return c.assignment }

// Member is a node taking part in the control loop: see assignment.Member.
type Member = assignment.Member

// Assignment says who does which part: see assignment.Table.
type Assignment = assignment.Table

// NewAssignment computes the assignment of members: see assignment.New.
func NewAssignment(secret []byte, members []Member) *Assignment {
	return assignment.New(secret, members)
}

// Version is the first byte of every packet.
const Version = packet.Version

// Sample is a key measured at this node: see control.Sample.
type Sample = control.Sample

// Advice is the outcome for a key at this node: see control.Advice.
type Advice = control.Advice

// Receive handles a packet from another member to this node. Packets of strangers, replays and
// packets with a wrong clock are rejected and counted.
func (c *Coordinator) Receive(now window.Instant, wall time.Time, b []byte) {
	c.setClock(now, wall)
	h, rest, ok := packet.ParseHeader(b)
	if !ok {
		c.stats.reject(RejectMalformed)
		return
	}
	if !c.isMember(h.Sender) || h.Sender == c.o.Name {
		c.stats.reject(RejectStranger)
		return
	}
	if !c.peers.Timely(now, h) {
		c.stats.reject(RejectTime)
		return
	}
	fresh, begins := c.peers.Fresh(now, h)
	if !fresh {
		c.stats.reject(RejectReplay)
		return
	}
	c.stats.PacketsIn++
	if pop, _ := c.assignment.PoP(h.Sender); begins && pop != c.o.PoP { // whose ring has all
		c.meet(now, pop)
	}
	for len(rest) > 0 {
		var k packet.Kind
		var body []byte
		if k, body, rest, ok = packet.NextRecord(rest); !ok {
			c.stats.reject(RejectMalformed)
			break
		}
		c.record(now, h, k, body)
	}
	c.send()
}

// record handles a record of a packet.
func (c *Coordinator) record(now window.Instant, h packet.Header, k packet.Kind, body []byte) {
	if k == 0 || k >= packet.Kinds || k == packet.Unused {
		c.stats.reject(RejectKind)
		return
	}
	if k == packet.Counts {
		c.stats.RecordsIn[k]++
		c.receiveCounts(now, h, body)
		return
	}
	r, err := packet.ParseRecord(k, body)
	if err != nil {
		c.stats.reject(RejectMalformed)
		return
	}
	c.stats.RecordsIn[k]++
	switch k {
	case packet.Ask:
		c.receiveAsk(now, h, &r)
	case packet.Report:
		c.receiveReport(now, h, &r)
	case packet.View:
		c.receiveWitness(now, h, &r)
	case packet.Advice:
		c.receiveAdvice(now, h, &r)
	}
}

// Tick advances the coordinator by a batch: budget, assignment, and all keys whose turn it is.
func (c *Coordinator) Tick(now window.Instant, wall time.Time) {
	c.setClock(now, wall)
	c.rounds++
	c.budget.Refill(now)
	c.peers.Forget(now, c.isMember)
	if c.rounds%10 == 1 { // twice a second: it sorts all members
		c.peers.Compare(c.isMember)
	}
	c.tickRestored(now)
	c.memory.tick()
	c.handOver(now)
	c.tickLocals(now)
	c.tickReported(now)
	c.tickOwned(now)
	c.tickCounts(now)
	c.send()
}

// setClock notes the wall clock, and the clock by which periods are numbered.
func (c *Coordinator) setClock(now window.Instant, wall time.Time) {
	c.peers.SetClock(now, wall)
	if c.o.Offset == nil {
		c.peers.Number(c.peers.Offset())
		return
	}
	c.peers.Number(c.o.Offset())
}

// isMember reports whether name is a member's.
func (c *Coordinator) isMember(name string) bool {
	_, known := c.assignment.PoP(name)
	return known
}

// Lift forgets the evidence against a key, here and in the aggregate, after an operator lifted the
// flag.
func (c *Coordinator) Lift(rule string, key []byte) {
	k := packet.ID{Rule: rule, Key: string(key)}
	if b := c.ownedKeys[k]; b != nil {
		b.aggregate.Lift()
	}
	if l := c.locals[k]; l != nil {
		l.view, l.viewed, l.blocked = control.GlobalView{}, 0, 0
	}
	for _, alone := range []bool{false, true} {
		if d := c.reporterKeys[reporterKeyID{k, alone}]; d != nil {
			d.witnesses = orderedMap[string, witness]{}
		}
	}
}
