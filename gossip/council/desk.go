package council

import (
	"maps"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// deskID is a key that this node reports: for its PoP, or for itself while it counts alone.
type deskID struct {
	id    id
	alone bool
}

// desk is where this node reports a key and hears of it.
type desk struct {
	is    deskID
	shard int
	nonce uint32
	nodes map[string]*asker // of the PoP, that are asked for the key

	demand    mitigation.Demand
	totals    window.Totals     // the most that was told of each period
	sent      mitigation.Demand // that the owners know
	changed   bool
	forwarded window.Instant
	asked     window.Instant // when a node asked last
	shed      bool           // as was concluded last
	opened    window.Instant // when the owners were first asked

	witnesses map[string]witness // by name of the owner, and of the standby
}

// asker is a node that measures the key.
type asker struct {
	nonce  uint32
	last   header // of what it sent last
	heard  window.Instant
	hold   time.Duration
	demand mitigation.Demand // of a node that counts alone
	told   reply
	waits  bool // it has asked since it was told
}

// reply is what was said last.
type reply struct {
	view mitigation.View
	at   window.Instant // 0: nothing
}

// stale is how long a node or a witness counts that says nothing more.
const stale = 3 * time.Second

// askedFor takes in a demand of a node of this PoP, or of this node alone.
func (c *Council) askedFor(now window.Instant, h header, r *record) {
	if pop, _ := c.seats.PoP(h.sender); h.sender != c.o.Name && pop != c.o.PoP {
		c.stats.reject(rejectStranger)
		return
	}
	d := c.desk(deskID{r.id, r.alone})
	if d == nil {
		return
	}
	n := d.nodes[h.sender]
	switch {
	case n == nil && len(d.nodes) >= maxReader:
		c.stats.Full++
		return
	case n == nil:
		n = &asker{}
		d.nodes[h.sender] = n
	case h.before(n.last):
		return // overtaken
	}
	n.nonce, n.last, n.heard, n.hold = r.nonce, h, now, r.demand.Hold
	n.waits = true
	d.take(now, h.sender, r)
	c.forwardDue(now, d)
	if now.Sub(n.told.at) > sheds {
		c.conclude(now, d) // who asks is to know that he is heard
	}
}

// forwards reports whether the owners should be told of d now.
func (c *Council) forwards(now window.Instant, d *desk) bool {
	age := now.Sub(d.forwarded)
	rule, ok := c.o.Rule(d.is.id.rule)
	if age < leastGap || !ok {
		return false
	}
	if d.changed && (d.forwarded == 0 || d.demand.Rate == 0 || c.moved(rule, &d.demand, &d.sent) > 0) {
		return true
	}
	every := keeps
	if d.shed {
		every = sheds
	}
	return now.Sub(d.asked) < 2*nodeKeeps && age >= c.stretched(every, len(c.desks))
}

// desk returns the desk called is, a new one if need be; nil when there is no room.
func (c *Council) desk(is deskID) *desk {
	d := c.desks[is]
	if d != nil {
		return d
	}
	if len(c.desks) >= MaxDesks {
		c.stats.Full++
		return nil
	}
	d = &desk{
		is: is, shard: c.seats.shard(is.id), nonce: c.dice.Uint32(),
		nodes: make(map[string]*asker), witnesses: make(map[string]witness),
	}
	c.desks[is] = d
	c.turns.desks.add(c.dice, d)
	return d
}

// take makes r's demand the PoP's. The nodes of a PoP know the same totals, some a little later than others.
func (d *desk) take(now window.Instant, sender string, r *record) {
	d.changed, d.asked = true, now
	if d.is.alone {
		d.nodes[sender].demand = r.demand
		if r.done {
			delete(d.nodes, sender)
		}
		d.demand.Over, d.demand.Known = r.demand.Over, r.demand.Known
		d.sum()
		return
	}
	if r.done {
		delete(d.nodes, sender)
		if len(d.nodes) > 0 {
			return // it is asked for elsewhere in the PoP
		}
	}
	blocked := r.demand.Blocked
	for n := range r.demand.Totals.By {
		if period := r.demand.Totals.Period; period != 0 {
			d.totals.Raise(period-uint32(n), r.demand.Totals.By[n])
		}
	}
	d.demand = r.demand
	d.demand.Totals, d.demand.Blocked = d.totals, blocked
}

// sum makes the demands of all nodes of the PoP that count alone into one.
func (d *desk) sum() {
	all := mitigation.Demand{Over: d.demand.Over, Known: d.demand.Known}
	for _, name := range slices.Sorted(maps.Keys(d.nodes)) { // sums must not depend on a map's order
		o := &d.nodes[name].demand
		all.Rate += o.Rate
		all.Admitted += o.Admitted
		all.Bare = all.Bare || o.Bare
		all.Blocked = max(all.Blocked, o.Blocked)
		all.Totals.Roll(o.Totals.Period)
	}
	for _, n := range d.nodes {
		all.Totals.Add(&n.demand.Totals)
	}
	d.demand = all
}

// viewOf is what v says to n: to a node that counts alone the others of its PoP are others too.
func (d *desk) viewOf(n *asker, v mitigation.View) mitigation.View {
	if !d.is.alone {
		return v
	}
	v.Echo = n.demand.Rate
	for _, other := range d.nodes {
		if other == n {
			continue
		}
		if other.demand.Bare {
			v.Bare += other.demand.Rate
		}
		if v.Others.Period != 0 {
			v.Others.Add(&other.demand.Totals)
		}
	}
	return v
}

// forwardDue forwards d if that is due and there is budget for it; else it is tried again.
func (c *Council) forwardDue(now window.Instant, d *desk) {
	if !c.forwards(now, d) {
		return
	}
	if !c.budget.may(kindDemand) {
		c.stats.Deferred++
		return
	}
	c.forward(now, d)
}

// forward tells owner and standby the PoP's demand.
func (c *Council) forward(now window.Instant, d *desk) {
	hold := c.holds(c.stretched(keeps, len(c.desks)), now.Sub(d.forwarded))
	d.changed, d.forwarded, d.sent = false, now, d.demand
	if d.opened == 0 {
		d.opened = now
	}
	r := record{kind: kindDemand, id: d.is.id, nonce: d.nonce, alone: d.is.alone, demand: d.demand}
	r.demand.Hold = hold
	if !c.presuming(now) {
		r.demand.Known = 0
	}
	for _, at := range c.seats.owners[d.shard] {
		switch to := c.seats.name(at); to {
		case "":
		case c.o.Name:
			c.demanded(now, header{sender: c.o.Name}, &r)
		default:
			c.ask(now, to)
			c.put(now, to, &r)
		}
	}
}

// tickDesks forwards what waited, and drops nodes that are not asked any more.
func (c *Council) tickDesks(now window.Instant) {
	more := func() bool { return c.calm() || c.budget.left(kindDemand) }
	c.turns.desks.visit(c.rounds, c.dice, more, func(d *desk, turn bool) bool {
		c.forwardDue(now, d)
		if !turn {
			return true
		}
		d.drop(now)
		keep := len(d.nodes) > 0 || now.Sub(d.forwarded) <= believed
		if !keep {
			delete(c.desks, d.is)
		}
		c.conclude(now, d)
		return keep
	})
}

// drop forgets the nodes that say nothing any more.
func (d *desk) drop(now window.Instant) {
	for name, n := range d.nodes {
		if now.Sub(n.heard) > max(stale, n.hold) {
			delete(d.nodes, name)
			if d.is.alone {
				d.sum()
			}
		}
	}
}
