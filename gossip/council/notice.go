package council

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// A notice tells everybody of a key that comes near its limit, or is beyond it. It is advice about what to look at: nobody
// is shed for it. A PoP that hears it reports the key at once, and what its owner answers convicts.

// wake is a key to be reported however small its share is.
type wake struct {
	until window.Instant
	seq   uint64
	owner string
}

// quota is how many notices one owner may have in force, and may bring anew.
type quota struct {
	live   int
	tokens float64
	filled window.Instant
}

const (
	noticeStep  = 0.1 // of what may pass, by which a notice must have moved to be spread at once
	noticeGap   = time.Second
	noticeEvery = 10 * time.Second
	noticeUntil = 30 * time.Second

	// MaxNotices is how many notices of one owner may be in force.
	MaxNotices = 4096
	// noticesFrom is how many new ones of one owner are taken in a second.
	noticesFrom = 256
)

// announce spreads how b stands, if it is near its limit and others do not know.
func (c *Council) announce(now window.Instant, b *book) {
	v := mitigation.View{
		Sum: b.account.Sum(), Limit: b.account.Limit(), Shed: b.account.Shed(), Blocked: b.account.Blocked(now),
	}
	if v.Sum < (1-theta)*b.rule.PerSecond() && v.Blocked == 0 || c.seats.Members() < 2 {
		return
	}
	was, age := &b.notice.view, now.Sub(b.notice.at)
	passes := func(v *mitigation.View) float64 { return min(1, v.Limit/max(v.Sum, 1e-9)) }
	moved := beyond(passes(was), passes(&v), noticeStep) || (was.Blocked > 0) != (v.Blocked > 0)
	if owner, _ := c.seats.Owners(b.id.rule, b.id.key); owner != c.o.Name {
		return // the standby keeps quiet
	}
	if b.notice.at != 0 && (age < noticeGap || age < noticeEvery && !moved) {
		return
	}
	if !c.budget.may(kindNotice) {
		c.stats.Deferred++
		return
	}
	b.notice = reply{view: v, at: now}
	c.sequence++
	b.seq = c.incarnation<<20 + c.sequence
	notice := c.noticeOf(b)
	c.passOn(notice)
	c.o.Spread(b.id.rule+"\x00"+b.id.key, notice)
}

// passOn takes what it costs to pass a notice on, this node's own or another's. All nodes hear of all notices and so hold back
// theirs when there are too many, whoever they are of.
func (c *Council) passOn(notice []byte) {
	resent := 4 * math.Ceil(math.Log10(float64(c.seats.Members()+1))) // by memberlist's rule
	c.budget.spend(kindNotice, int(resent)*(len(notice)+noticeFraming))
}

// noticeFraming is what a notice costs beside its bytes: its frame, and its share of a packet.
const noticeFraming = 16

// noticeOf returns b's notice as it is spread: a version and one record.
func (c *Council) noticeOf(b *book) []byte {
	r := record{
		kind: kindNotice, id: b.id, view: b.notice.view, from: c.o.Name,
		until: int64(b.notice.at.Add(noticeUntil)) / int64(time.Millisecond), seq: b.seq,
	}
	var out []byte
	out, c.scratch = appendRecord([]byte{Version}, &r, c.scratch)
	c.stats.RecordsOut[kindNotice]++
	return out
}

// Notices returns the notices of what this node owns that are in force, as Hear takes them, for a member that has just come.
func (c *Council) Notices(now window.Instant) (all [][]byte) {
	for _, b := range c.books {
		if b.notice.at != 0 && now.Sub(b.notice.at) < noticeUntil && len(all) < MaxNotices {
			all = append(all, c.noticeOf(b))
		}
	}
	return all
}

// Hear takes in a notice that was spread, and reports whether it was news, to be passed on.
func (c *Council) Hear(now window.Instant, notice []byte) (news bool) {
	if len(notice) == 0 || notice[0] != Version {
		c.stats.reject(rejectMalformed)
		return false
	}
	k, body, _, ok := nextRecord(notice[1:])
	if !ok || k != kindNotice {
		c.stats.reject(rejectKind)
		return false
	}
	r, err := parseRecord(k, body)
	if err != nil {
		c.stats.reject(rejectMalformed)
		return false
	}
	c.stats.RecordsIn[k]++
	if news = c.wake(now, &r); news {
		c.passOn(notice)
	}
	return news
}

// wake notes that r's key is to be reported, within the quota of who says so.
func (c *Council) wake(now window.Instant, r *record) bool {
	until := window.Instant(r.until * int64(time.Millisecond))
	if until <= now || until.Sub(now) > 2*noticeUntil { // issued longer ago than it may live, or in the future
		c.stats.reject(rejectTime)
		return false
	}
	if _, known := c.seats.PoP(r.from); !known {
		c.stats.reject(rejectStranger)
		return false
	}
	was, known := c.wakes[r.id]
	if known && (was.seq >= r.seq && was.owner == r.from) {
		return false
	}
	if !known && !c.admits(now, r.from) {
		return false
	}
	if known && was.owner != r.from {
		c.quota(was.owner).live--
		c.quota(r.from).live++
	}
	c.wakes[r.id] = wake{until: now.Add(min(until.Sub(now), noticeUntil)), seq: r.seq, owner: r.from}
	return true
}

// admits reports whether owner may bring one more notice.
func (c *Council) admits(now window.Instant, owner string) bool {
	q := c.quota(owner)
	q.tokens = min(noticesFrom, q.tokens+now.Sub(q.filled).Seconds()*noticesFrom)
	q.filled = now
	if q.tokens < 1 || q.live >= MaxNotices || len(c.wakes) >= MaxWakes {
		c.stats.reject(rejectQuota)
		return false
	}
	q.tokens--
	q.live++
	return true
}

// quota returns owner's quota. Owners are members.
func (c *Council) quota(owner string) *quota {
	q := c.quotas[owner]
	if q == nil {
		q = &quota{tokens: noticesFrom}
		c.quotas[owner] = q
	}
	return q
}

// tickWakes forgets what nobody repeats.
func (c *Council) tickWakes(now window.Instant) {
	if c.rounds%turnTicks != 0 {
		return
	}
	for k, w := range c.wakes {
		if w.until <= now {
			c.quota(w.owner).live--
			delete(c.wakes, k)
		}
	}
	for name, q := range c.quotas {
		if _, known := c.seats.PoP(name); !known && q.live <= 0 {
			delete(c.quotas, name)
		}
	}
}
