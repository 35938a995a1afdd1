package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Reject is the reason for which a packet or a record was not accepted. Metrics use the name.
type Reject uint8

// The reasons.
const (
	// RejectMalformed is a packet or record unparsable, or with a value out of range.
	RejectMalformed Reject = iota
	// RejectStranger is a packet or record of no member, or of a member of the wrong PoP.
	RejectStranger
	// RejectReplay is a packet behind the replay window of the session.
	RejectReplay
	// RejectTime is a packet with a stamp too old, or from the future.
	RejectTime
	// RejectKind is a record of a kind with no place here, or of a later version.
	RejectKind
	// RejectUnasked is a view for a key this node did not ask about: the nonce is wrong.
	RejectUnasked
	// RejectRule is a report under a rule without scope global here.
	RejectRule
	// Rejects is the number of reasons.
	Rejects
)

var rejectNames = [...]string{
	RejectMalformed: "malformed", RejectStranger: "stranger",
	RejectReplay: "replay", RejectTime: "time",
	RejectKind: "kind", RejectUnasked: "unasked", RejectRule: "rule",
}

// String returns the reason's name in metrics.
func (r Reject) String() string { return rejectNames[r] }

var kindNames = [...]string{
	"", packet.Ask: "ask", packet.Report: "demand", packet.View: "view",
	packet.Advice: "advice", packet.Counts: "counts",
}

// Kinds is the number of record packet.Kinds, of which 0 is unused.
const Kinds = int(packet.Kinds)

// KindName returns the name of kind n in metrics, "" for a number that is no kind.
func KindName(n int) string { return kindNames[n] }

// Stats are a Coordinator's gauges, and counters since start. Written by Coordinator.Stats; read by
// metrics and the admin pages.
type Stats struct {
	// Locals, ReporterKeys and OwnedKeys are numbers of keys: measured here, reported for the PoP,
	// and owned or stood by for.
	Locals, ReporterKeys, OwnedKeys int
	// Shed and Guarded count shed owned keys, and keys with origins silent together.
	Shed, Guarded int
	// MostDebt is the largest excess of an owned key in the trailing window, in seconds of the
	// limit.
	MostDebt float64
	// Overloaded says that the budget is too small for counts: rates are sent instead.
	Overloaded bool

	// PacketsIn, PacketsOut and BytesOut count packets; bytes include headers.
	PacketsIn, PacketsOut, BytesOut uint64
	// RecordsIn and RecordsOut count records by kind.
	RecordsIn, RecordsOut [Kinds]uint64
	// Rejected counts packets and records by reason.
	Rejected [Rejects]uint64
	// Deferred counts reports, views and advice delayed by the budget.
	Deferred uint64
	// CountsIn and CountsOut count the records of admissions that came from other PoPs and nodes,
	// and that were sent.
	CountsIn, CountsOut uint64
	// Relays and RelaysDropped count batches passed on inside the PoP, and those that the budget
	// for it did not carry.
	Relays, RelaysDropped uint64
	// CountsQueue is the number of keys whose counts wait to be sent, CountsHeld that of the keys
	// held by counts from PoP to PoP.
	CountsQueue, CountsHeld int
	// CountsPressure is the factor by which fewer counts are sent than there are: 0 for none.
	CountsPressure float64
	// CountsDisplaced counts entries of the table of counts that gave way to newer entries.
	CountsDisplaced uint64
	// Bytes are those of all keys and of the table of counts, of Capacity at most.
	Bytes, Capacity int64
	// Full counts keys and origins that found no room.
	Full uint64
	// Origins is the number of PoPs and lone nodes of which counts are kept.
	Origins int
}

func (s *Stats) reject(why Reject) { s.Rejected[why]++ }

// Stats returns the counters and gauges. It visits every owned key.
func (c *Coordinator) Stats() Stats {
	s := c.stats
	s.Overloaded = c.budget.Overloaded()
	s.Origins = c.Origins()
	s.CountsQueue, s.CountsPressure = len(c.counts.queue), c.counts.pressure.Factor()
	s.Full += c.memory.refused
	s.Bytes, s.Capacity = c.memory.used, c.memory.most
	if c.counts.table != nil {
		s.Bytes, s.Capacity = s.Bytes+c.counts.table.Bytes(), s.Capacity+c.counts.table.Bytes()
		s.CountsDisplaced = c.counts.table.Evicted()
	}
	s.CountsHeld = len(c.counts.keys)
	s.Locals = len(c.locals) + s.CountsHeld
	s.ReporterKeys, s.OwnedKeys = len(c.reporterKeys), len(c.ownedKeys)
	for _, b := range c.ownedKeys {
		if b.aggregate.Shed() {
			s.Shed++
		}
		if b.aggregate.Guarded() {
			s.Guarded++
		}
		s.MostDebt = max(s.MostDebt, b.aggregate.Excess())
	}
	return s
}

// Origins returns the number of PoPs and lone nodes of which counts are kept, at most
// counts.MaxOrigins.
func (c *Coordinator) Origins() int { return c.counts.origins.Len() }

// Explain returns the standing of a key at now.
func (c *Coordinator) Explain(now window.Instant, rule string, key []byte) (s control.Standing) {
	k := packet.ID{Rule: rule, Key: string(key)}
	if r, _ := c.rule(rule); c.held(r) {
		if is := c.counts.keys[k]; is != nil {
			s = c.standing(now, is)
		}
		return s
	}
	shard := c.assignment.Shard(k.Rule, k.Key)
	s.Reporter = c.assignment.Reporters(c.o.PoP, shard).First
	s.Owner, s.Standby = c.assignment.Owners(rule, k.Key)
	if b := c.ownedKeys[k]; b != nil {
		s.Parts = b.aggregate.Parts(now)
	}
	if l := c.locals[k]; l != nil {
		s.View, s.Viewed, s.Rate, s.Alone = l.view, l.viewed, l.report.Rate, l.alone
		if c.fresh(now, l) {
			s.Ratio, s.RateOnly = c.ratio(now, l), count(&l.rule.Rule, l.view.RateOnly)
		}
	}
	return s
}

// Clocks is the coordinator's view of the other members' clocks: see peers.Clocks.
type Clocks = peers.Clocks

// ReceiveClock compares this node's wall clock, wall at now, with that of the member called name,
// which shows ms Unix milliseconds. Members exchange clocks in state exchanges, so a wrong clock is
// noticed before any report.
func (c *Coordinator) ReceiveClock(now window.Instant, wall time.Time, name string, ms int64) {
	c.setClock(now, wall)
	if !c.isMember(name) || name == c.o.Name {
		c.stats.reject(RejectStranger)
		return
	}
	if !c.peers.ReceiveClock(now, name, ms) {
		c.stats.reject(RejectTime)
	}
}

// Pinged notes that the member called name answered a ping within round, when its wall clock was
// lead ahead of this node's.
func (c *Coordinator) Pinged(now window.Instant, name string, lead, round time.Duration) {
	if c.isMember(name) {
		c.peers.Pinged(now, name, lead, round)
	}
}

// Offset returns by how much this node's wall clock is ahead of the cluster's clock, the median of
// the members' wall clocks.
func (c *Coordinator) Offset() time.Duration { return c.peers.Offset() }

// Clocks returns the state of the other members' clocks at now.
func (c *Coordinator) Clocks(now window.Instant) Clocks {
	return c.peers.Clocks(now, c.assignment.Members(), c.isMember)
}
