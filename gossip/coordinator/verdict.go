package coordinator

import (
	"math/rand/v2"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

const (
	// answerTimeout is the time after which an owner that does not answer is left to its standby.
	answerTimeout = 1500 * time.Millisecond
	// maxWitnesses bounds the witnesses of a key: owners before and after a change of members.
	maxWitnesses = 4
)

// witness is the view of an owner or standby.
type witness struct {
	view       control.GlobalView
	from       string
	receivedAt window.Instant
}

// receiveWitness stores the view of an owner or standby.
func (c *Coordinator) receiveWitness(now window.Instant, h packet.Header, r *packet.Record) {
	d := c.reporterKeys[reporterKeyID{r.ID, r.Alone}]
	if d == nil || d.nonce != r.Nonce {
		c.stats.reject(RejectUnasked)
		return
	}
	if _, known := d.witnesses.Get(h.Sender); !known && d.witnesses.Len() >= maxWitnesses {
		d.forget(now, c.dice)
	}
	d.witnesses.Put(h.Sender, witness{view: r.View, from: r.From, receivedAt: now})
	c.publish(now, d)
}

// forget drops expired witnesses, and at least the oldest.
func (d *reporterKey) forget(now window.Instant, dice *rand.Rand) {
	oldest, at := "", now
	d.witnesses.Visit(dice, func(name string, w witness) (keep bool) {
		if w.receivedAt <= at {
			oldest, at = name, w.receivedAt
		}
		return now.Sub(w.receivedAt) <= viewTTL
	})
	d.witnesses.Drop(oldest)
}

// publish sends the verdict of the witnesses to the nodes of the PoP.
func (c *Coordinator) publish(now window.Instant, d *reporterKey) {
	w, ok := c.verdict(now, d)
	if !ok {
		return
	}
	d.shed = w.view.Shed
	d.nodes.Visit(c.dice, func(name string, n *nodeState) (keep bool) {
		c.publishTo(now, d, name, n, &w)
		return true
	})
}

// publishTo is publish for a node, if the verdict differs from the last one it got.
func (c *Coordinator) publishTo(
	now window.Instant, d *reporterKey, name string, n *nodeState, w *witness,
) {
	rule, _ := c.rule(d.is.id.Rule)
	is := viewState{GlobalView: d.viewOf(n, w.view), at: now}
	if !c.differs(&rule.Rule, &n.sent, &is, adviceEvery) &&
		(!n.awaiting || now.Sub(n.sent.at) <= shedGap) {
		return
	}
	if name != c.o.Name && !c.budget.May(packet.Advice) {
		c.stats.Deferred++
		return
	}
	n.awaiting, n.sent = false, is.sent()
	if name == c.o.Name {
		if l := c.locals[d.is.id]; l != nil && l.alone == d.is.alone {
			c.receiveView(now, l, is.GlobalView, w.from)
		}
		return
	}
	c.put(now, name, &packet.Record{
		Kind: packet.Advice, ID: d.is.id, Nonce: n.nonce,
		View: is.GlobalView, From: w.from,
	})
}

// verdict is the lesser of both witnesses' views, or the view of the only answer.
func (c *Coordinator) verdict(now window.Instant, d *reporterKey) (witness, bool) {
	owners := c.assignment.ShardOwners(d.shard)
	owner, standby := owners.First, owners.Second
	first, one := d.witness(now, owner)
	second, two := d.witness(now, standby)
	one, two = one && c.peers.Responsive(now, owner, answerTimeout), two &&
		c.peers.Responsive(now, standby, answerTimeout)
	switch {
	case one && two:
		first.view = first.view.Lesser(second.view)
		return first, true
	case one:
		waits := standby != "" && c.peers.Responsive(now, standby, answerTimeout) &&
			// the time for which a new reporter key waits for the second of two witnesses.
			now.Sub(d.opened) < (300*time.Millisecond)
		return first, !waits
	case two:
		return second, true
	}
	for _, w := range d.witnesses.All() { // members disagree on the owner: any answer will do
		if now.Sub(w.receivedAt) <= staleAfter {
			return w, true
		}
	}
	return witness{}, false
}

func (d *reporterKey) witness(now window.Instant, name string) (witness, bool) {
	w, ok := d.witnesses.Get(name)
	return w, ok && now.Sub(w.receivedAt) <= max(staleAfter, 3*viewEvery)
}
