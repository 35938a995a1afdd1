package coordinator

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// A hint tells all members of a key near the limit, or above. Advice about which keys to report, a
// hint sheds no key: a PoP receiving a hint reports the key at once, and the owner's view convicts.
// The hint prevents an overload from hiding in many small shares.

// hint marks a key to be reported however small the rate.
type hint struct {
	until window.Instant
	seq   uint64
	owner string
}

const (
	// hintTTL is the life of a hint.
	hintTTL = 30 * time.Second
	// hintUsed is the part of a limit counting have used up when a key is near the limit: the hint
	// is everywhere before the rest is used up, but for the fastest floods.
	hintUsed = 0.5

	// MaxOwnerHints bounds the hints of an owner in force.
	MaxOwnerHints = 4096
)

// announce spreads b's view as a hint if the key is near the limit, or blocked, and the last hint
// is outdated. The standby stays silent.
func (c *Coordinator) announce(now window.Instant, b *ownedKey) {
	v := control.GlobalView{
		Sum: b.aggregate.Sum(), Limit: b.aggregate.Limit(), Shed: b.aggregate.Shed(),
		Blocked: b.aggregate.Blocked(now),
	}
	if !c.near(now, b) && v.Blocked == 0 || c.assignment.Members() < 2 {
		return
	}
	if owner, _ := c.assignment.Owners(b.id.Rule, b.id.Key); owner != c.o.Name ||
		// the refresh interval of a hint.
		b.hinted.at != 0 && now.Sub(b.hinted.at) < (10*time.Second) {
		return
	}
	if !c.may(packet.Hint, &b.rule) {
		c.stats.Deferred++
		return
	}
	b.hinted = sentView{view: viewState{GlobalView: v}, at: now}
	c.sequence++
	b.seq = c.incarnation<<20 + c.sequence
	hint := c.hintOf(b)
	c.relay(hint)
	c.o.Spread(b.id.Rule+"\x00"+b.id.Key, hint)
	c.reportHinted(now, b.id)
}

// near reports whether b is near the limit: the rate is (1-rates.Theta)·limit or more, or counts
// have used up hintUsed of a limit held by counts alone. The rate of a key with few requests rises
// late.
func (c *Coordinator) near(now window.Instant, b *ownedKey) bool {
	return b.aggregate.Sum() >= (1-theta)*b.rule.PerSecond() ||
		c.clock(now, &b.rule).Runs() &&
			float64(b.aggregate.Used()) >= hintUsed*float64(b.rule.Quota())
}

// relay charges the budget for passing a hint on, this node's own or another's. All nodes receive
// all hints, so all hold back when there are too many.
func (c *Coordinator) relay(hint []byte) {
	resent := 4 * math.Ceil(math.Log10(float64(c.assignment.Members()+1))) // by memberlist's rule
	// the overhead of a hint beside the hint's bytes: the frame and a share of a packet.
	c.budget.Spend(packet.Hint, int(resent)*(len(hint)+16))
}

// hintOf returns b's hint as spread: a version byte and a record.
func (c *Coordinator) hintOf(b *ownedKey) []byte {
	r := packet.Record{
		Kind: packet.Hint, ID: b.id, View: b.hinted.view.GlobalView, From: c.o.Name,
		Until: c.peers.Millis(b.hinted.at.Add(hintTTL)), Seq: b.seq,
	}
	var out []byte
	out, c.scratch = packet.AppendRecord([]byte{Version}, &r, c.scratch)
	c.stats.RecordsOut[packet.Hint]++
	return out
}

// Hints returns this node's hints in force at now, at most MaxOwnerHints, in the form ReceiveHint
// takes. For a joining member.
func (c *Coordinator) Hints(now window.Instant, wall time.Time) (all [][]byte) {
	c.peers.SetClock(now, wall)
	c.visits.ownedKeys.Each(c.dice, func(b *ownedKey) {
		if b.hinted.at != 0 && now.Sub(b.hinted.at) < hintTTL && len(all) < MaxOwnerHints {
			all = append(all, c.hintOf(b))
		}
	})
	return all
}

// ReceiveHint handles a spread hint, and reports whether the hint is new here and so to be passed
// on.
func (c *Coordinator) ReceiveHint(now window.Instant, wall time.Time, hint []byte) (news bool) {
	c.peers.SetClock(now, wall)
	if len(hint) == 0 || hint[0] != Version {
		c.stats.reject(RejectMalformed)
		return false
	}
	k, body, _, ok := packet.NextRecord(hint[1:])
	if !ok || k != packet.Hint {
		c.stats.reject(RejectKind)
		return false
	}
	r, err := packet.ParseRecord(k, body)
	if err != nil {
		c.stats.reject(RejectMalformed)
		return false
	}
	c.stats.RecordsIn[k]++
	if news = c.mergeHint(now, &r); news {
		c.relay(hint)
		c.reportHinted(now, r.ID)
	}
	return news
}

// reportHinted reports a key too small to be reported, at once: the next request may come when the
// limit is used up, and would be judged by this node's counts alone.
func (c *Coordinator) reportHinted(now window.Instant, k packet.ID) {
	if l := c.locals[k]; l != nil && l.sentAt == 0 && c.clock(now, &l.rule).Runs() &&
		now.Sub(l.measured) < l.rule.Window && c.may(packet.Ask, &l.rule) {
		c.report(now, l, false)
	}
}

// mergeHint notes that r's key is to be reported, within the quota of the owner.
func (c *Coordinator) mergeHint(now window.Instant, r *packet.Record) bool {
	until := c.peers.Instant(r.Until)
	if until <= now || until.Sub(now) > 2*hintTTL { // expired, or issued in the future
		c.stats.reject(RejectTime)
		return false
	}
	if !c.isMember(r.From) {
		c.stats.reject(RejectStranger)
		return false
	}
	was, known := c.hints[r.ID]
	if known && (was.seq >= r.Seq && was.owner == r.From) {
		return false
	}
	if !known && !c.admits(now, r.From) {
		return false
	}
	if known && was.owner != r.From {
		c.quota(was.owner).Live--
		c.quota(r.From).Live++
	}
	c.hints[r.ID] = hint{until: now.Add(min(until.Sub(now), hintTTL)), seq: r.Seq, owner: r.From}
	return true
}

// admits reports whether owner may add another hint, and counts the hint.
func (c *Coordinator) admits(now window.Instant, owner string) bool {
	q := c.quota(owner)
	if q.Live >= MaxOwnerHints || len(c.hints) >= MaxHints || !q.Take(now) {
		c.stats.reject(RejectQuota)
		return false
	}
	q.Live++
	return true
}

// quota returns owner's quota. Owners are members, so their number is bounded.
func (c *Coordinator) quota(owner string) *quota {
	q := c.quotas[owner]
	if q == nil {
		q = newQuota()
		c.quotas[owner] = q
	}
	return q
}

// tickHints drops expired hints, and quotas of former members.
func (c *Coordinator) tickHints(now window.Instant) {
	if c.rounds%turnParts != 0 {
		return
	}
	for k, w := range c.hints {
		if w.until <= now {
			c.quota(w.owner).Live--
			delete(c.hints, k)
		}
	}
	for name, q := range c.quotas {
		if !c.isMember(name) && q.Live <= 0 {
			delete(c.quotas, name)
		}
	}
}
