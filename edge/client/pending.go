package client

import (
	"bytes"
	"errors"

	"github.com/headgate-dev/headgate/edge/wire"
)

// errPending is the Err of an answer not arrived.
var errPending = errors.New("pending")

// call is a Batch or Ask under way. From the first datagram until Client.forget, Client.mu guards
// it. A call owns memory, pending queries point there: forget removes queries before the caller has
// the answers, so a late reply cannot write into memory being read.
type call struct {
	queries []Query
	whole   []byte   // the line of an Ask; nil: a Batch
	answers []Answer // Err is errPending until the answer arrives
	// Spans and not a list of ids: queries of a datagram are neighbours.
	sent []idSpan      // ids that may be pending
	left int           // queries that are pending
	err  error         // why the pending ones will get no answer
	news chan struct{} // capacity 1: left reached 0, or err was set
}

// idSpan is n ids, from first on.
type idSpan struct {
	first uint64
	n     int
}

func newCall(queries []Query) *call {
	k := &call{
		queries: queries, answers: make([]Answer, len(queries)),
		news: make(chan struct{}, 1),
	}
	for i := range k.answers {
		k.answers[i].Err = errPending
	}
	return k
}

func (k *call) notify() {
	select {
	case k.news <- struct{}{}:
	default: // the last notification is still unread, which is enough
	}
}

// pending is a query waiting for an answer.
type pending struct {
	call  *call
	index int // in call.queries
}

// register makes the queries of the packet pending. Called before the packet is sent, since the
// reply may arrive before the sender runs again.
func (c *Client) register(k *call) error {
	p := &c.packet
	c.mu.Lock()
	defer c.mu.Unlock()
	// A bound on the pile of queries when a daemon stops answering; the timeout empties the pile.
	if len(c.pending)+p.Lines() > MaxPending {
		return ErrBusy
	}
	for i := range p.Lines() {
		c.pending[p.ID(i)] = pending{k, p.index[i]}
	}
	k.sent = append(k.sent, idSpan{p.ID(0), p.Lines()})
	k.left += p.Lines()
	return nil
}

// settle gives each line of a reply to the waiting query. Lines are matched by their ids alone:
// replies of different datagrams come in any order, and may come twice.
func (c *Client) settle(datagram []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(datagram) > 0 {
		var line []byte
		line, datagram, _ = bytes.Cut(datagram, []byte{'\n'})
		c.settleLine(line)
	}
}

func (c *Client) settleLine(line []byte) {
	answer, err := wire.ParseAnswer(line)
	id, ok := parseID(answer.ID)
	p, waits := c.pending[id]
	if !ok || !waits {
		c.strays++
		return
	}
	delete(c.pending, id)
	// A shortened reply has no view: from then on fewer queries go into a datagram.
	if err == nil && answer.Status <= wire.Deny && !bytes.Contains(line, []byte(" view=")) {
		c.cut.Store(true)
	}
	k := p.call
	if k.whole != nil {
		k.answers[0] = wholeAnswerOf(line)
	} else if k.answers[p.index] = answerOf(k.queries[p.index].Op, answer); err != nil {
		k.answers[p.index] = Answer{Err: wire.ErrReply}
	}
	if k.left--; k.left == 0 {
		k.notify()
	}
}

// abandon fails all pending queries with err. The caller holds c.mu. The socket is gone, and
// nothing will come any more: to wait for the timeout would only be slower.
func (c *Client) abandon(err error) {
	for _, p := range c.pending {
		p.call.err = err
		p.call.notify()
	}
	clear(c.pending)
}

// forget removes the pending queries of k.
func (c *Client) forget(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// All were answered, and settle has removed each.
	if k.left == 0 {
		return
	}
	for _, s := range k.sent {
		for i := range s.n {
			delete(c.pending, nextID(s.first, i))
		}
	}
}
