package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// A key of a small limit is contested while nearly all of the limit is used for long. Each PoP then
// has a part of the limit, limit/PoPs and at least 1, whatever the others admit or claim. The
// records that come anyway are enough for it. A node believes of the other PoPs
//
//	all together  at most the limit less a part, which is for this PoP
//	each          at least what the PoP had of its part in the last window: a flood here leaves
//	              free what falls due there
//
// The second holds only where this PoP is flooded, denied much of a limit in each window: a client
// near its limit is not, and moves as it likes. The price is the change: a PoP that comes late
// takes its part beside a full window.

const (
	// contestedAfter is the time for the records of all PoPs to come, after a window of use.
	contestedAfter = 2 * time.Second
	// maxShares bounds the shares of all contests, 16 bytes each. A key beyond is held by plain
	// counts.
	maxShares = 1 << 17
)

// contest is the memory of a key near its limit.
type contest struct {
	first, last window.Instant // when nearly all of the limit was used
	calm        window.Instant // when this PoP was last not flooded
	shares      []share        // of the last window
	most        []recent
}

// share is admissions of an origin at about the same time.
type share struct {
	at           window.Instant
	origin       uint8 // 0: this node's PoP
	units, inLog uint8 // that the origin admitted, and that the gate's log counts
}

// recent is the most that an origin admitted in a window, and when that was so last.
type recent struct {
	at     window.Instant
	units  int32
	origin uint8
}

// recent returns t's recent of an origin, a new one if need be.
func (t *contest) recent(origin uint8) *recent {
	for n := range t.most {
		if t.most[n].origin == origin {
			return &t.most[n]
		}
	}
	t.most = append(t.most, recent{origin: origin})
	return &t.most[len(t.most)-1]
}

// contend follows what is used of the limit of k: after a growth of other origins' admissions, and
// after a sample, by which this PoP admitted own more since the sample at was. offered is the cost
// offered in the window, as far as is known.
func (c *Coordinator) contend(now, was window.Instant, k *counted, own, offered int64) {
	r, t := k.rule, k.contest
	near := r.Limit - r.Limit/10
	switch {
	case c.assignment.PoPs() == 1 || r.Fairness != mitigation.FairPoPs ||
		t == nil && offered < near ||
		t != nil && now.Sub(t.last) > 2*r.Window:
		c.settleContest(k)
		return
	case t == nil:
		t = &contest{first: now, last: now, calm: now}
		k.contest = t
	}
	c.addShare(k, share{max(was, now.Add(-time.Second)), 0, uint8(min(own, 255)), 0})
	if k.contest == nil {
		return
	}
	all, _ := c.sharesOf(now, k, nil)
	if all = max(all, offered); all >= near {
		t.last = now
	}
	if k.contested(now) && now.Sub(t.calm) > 2*r.Window &&
		now.Sub(k.measured) < adviceFor(c.o.Flush) {
		c.keepFree(now, k)
	}
}

// settleContest ends the contest of k, if there is one.
func (c *Coordinator) settleContest(k *counted) {
	if k.contest != nil {
		c.counts.shares -= len(k.contest.shares)
		k.contest = nil
	}
}

// contested reports whether k is contested.
func (k *counted) contested(now window.Instant) bool {
	return k.contest != nil && now.Sub(k.contest.first) > k.rule.Window+contestedAfter
}

// addShare adds s. Without room the contest ends.
func (c *Coordinator) addShare(k *counted, s share) {
	switch {
	case k.contest == nil || s.units == 0 && s.inLog == 0:
	case c.counts.shares >= maxShares:
		c.settleContest(k)
	default:
		k.contest.shares = append(k.contest.shares, s)
		c.counts.shares++
	}
}

// sharesOf sums up the shares of an origin, nil: of all, and forgets those before the window.
func (c *Coordinator) sharesOf(now window.Instant, k *counted, origin *uint8) (units, inLog int64) {
	t, from := k.contest, now.Add(-k.rule.Window)
	kept := t.shares[:0]
	for _, s := range t.shares {
		if s.at <= from {
			continue
		}
		if kept = append(kept, s); origin == nil || *origin == s.origin {
			units, inLog = units+int64(s.units), inLog+int64(s.inLog)
		}
	}
	c.counts.shares -= len(t.shares) - len(kept)
	t.shares = kept
	return units, inLog
}

// part returns the part of an origin of the limit of k, and how much more of other origins the
// gate's log may count.
func (c *Coordinator) part(now window.Instant, k *counted) (part, room int64) {
	origins := c.assignment.PoPs()
	if k.alone {
		origins = c.assignment.Members()
	}
	part = max(1, k.rule.Limit/int64(max(origins, 1)))
	_, inLog := c.sharesOf(now, k, nil)
	return part, max(0, k.rule.Limit-part-inLog)
}

// believe returns how much of a growth of an origin's admissions the log is to count: what was not
// kept free for the origin, as far as there is room.
func (c *Coordinator) believe(
	now window.Instant, k *counted, origin uint8, g *counts.Growth,
) (cost int64) {
	t, units := k.contest, min(g.Units, 255)
	if t == nil {
		return units
	}
	for n := range t.shares {
		if s := &t.shares[n]; s.origin == origin && s.inLog > s.units { // was kept free
			took := min(units, int64(s.inLog-s.units))
			s.units, units = s.units+uint8(took), units-took
		}
	}
	if cost = units; k.contested(now) {
		_, room := c.part(now, k)
		cost = min(cost, room)
	}
	c.addShare(k, share{now, origin, uint8(units), uint8(cost)}) // at most 255
	return cost
}

// keepFree has the log count what other origins had of their parts in the last window, and have not
// now.
func (c *Coordinator) keepFree(now window.Instant, k *counted) {
	for n := 0; n < len(k.states) && k.contest != nil; n++ {
		origin := k.states[n].Origin
		units, inLog := c.sharesOf(now, k, &origin)
		is := k.contest.recent(origin)
		if units >= int64(is.units) || now.Sub(is.at) > k.rule.Window {
			is.units, is.at = int32(units), now // of shares of at most 255
		}
		part, room := c.part(now, k)
		lacks := min(part, int64(is.units)) - inLog
		if lacks = min(lacks, room); lacks > 0 {
			c.addShare(k, share{now, origin, 0, uint8(lacks)}) // at most 64
			c.counts.remote = append(c.counts.remote, window.RemoteDelta{
				Period:       c.period(now, &k.rule.Rule),
				PeriodTotals: window.PeriodTotals{Offered: lacks, Admitted: lacks},
				Since:        now,
			})
		}
	}
}
