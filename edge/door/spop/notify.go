package spop

import (
	"math/rand/v2"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/window"
)

// notify answers the messages of a NOTIFY by an ACK. A single ACK for a NOTIFY, whatever its
// messages; its ids tell HAProxy which stream it is for.
func (c *conn) notify(b *gate.Batch, now window.Instant, f *frame) {
	at, owing := len(c.out), c.Owing()
	c.out = beginFrame(c.out, agentAck, f.ids)
	for p, n := f.payload, 0; len(p) > 0; n++ {
		if n == maxMessages {
			c.giveUp(at, owing, tooBig)
			return
		}
		name, rest, ok := takeText(p)
		if !ok || len(rest) == 0 {
			c.giveUp(at, owing, badFrame)
			return
		}
		before, already := len(c.out), c.Owing()
		c.headersAt, c.headersEnd = before, before
		if p, ok = c.message(b, now, name, rest); !ok {
			c.giveUp(at, owing, badFrame)
			return
		}
		if !c.fit(at, before) {
			c.Lose(already)
		}
	}
	c.out = endFrame(c.out, at)
}

// giveUp ends the connection in place of the answer that begins at at. owing is the number of owed
// answers before.
func (c *conn) giveUp(at, owing int, why status) {
	c.out = c.out[:at]
	c.Lose(owing)
	c.fail(why)
}

// fit leaves out variables of the answer that begins at before, where with it the frame from at on
// would be a frame for which HAProxy closes the connection: first the headers, then all. The
// decision stays: counts stay. It reports whether anything of the answer is left.
func (c *conn) fit(at, before int) bool {
	most := at + lengthBytes + c.size
	if len(c.out) > most {
		c.out = append(c.out[:c.headersAt], c.out[c.headersEnd:]...)
	}
	if len(c.out) > most {
		c.out = c.out[:before]
		c.door.unanswered.Add(1)
		return false
	}
	return true
}

// message answers the message called name, at whose number of arguments args begins. It returns the
// rest.
func (c *conn) message(
	b *gate.Batch, now window.Instant, name, args []byte,
) (rest []byte, ok bool) {
	m := &c.m
	m.begin(name)
	known := m.kind != unknown
	f := c.session.Read(c.peer)
	n, rest := int(args[0]), args[1:]
	for range n {
		var arg []byte
		var v value
		if arg, v, rest, ok = takePair(rest); !ok {
			return nil, false
		}
		// The arguments of other messages are read too, for where the next message begins.
		if known {
			m.take(arg, v, f)
			m.blame(arg, v)
		}
	}
	if !known {
		return rest, true
	}
	c.door.requests.Add(1)
	m.complete()
	// The client is found once all arguments are read, since src and headers may come in any order.
	f.End()
	if m.code == wire.NoError {
		c.decide(b, now)
	}
	if m.code != wire.NoError {
		c.door.note(name, m)
		// "deny" is not set: the proxy's rule on deny does not match, and the request passes
		c.out = setText(c.out, "error", m.code.String())
	}
	return rest, true
}

// decide does as a message without a fault says.
func (c *conn) decide(b *gate.Batch, now window.Instant) {
	m := &c.m
	switch {
	case m.kind == releases && m.plain:
		_, err := c.door.room.Release(now, m.rule, m.key, m.lease)
		m.failBy(err)
	case m.kind != asks:
		c.session.Request.Status, c.session.Took = m.status, m.took
		c.session.Cost, c.session.Millionths = m.cost, m.millionths
		c.report(b, now)
	case m.plain:
		a := gate.Ask{
			Op: gate.Check, Rule: m.rule, Key: m.key, Cost: m.cost, Wait: m.waits,
			Millionths: m.millionths, Tier: c.session.Request.Tier,
		}
		if m.failBy(b.Decide(&c.d, &a)) {
			return
		}
		c.out = c.appendDecision(c.out, &c.d, now)
	default:
		c.session.CanWait, c.session.CanDeceive = m.waits, m.deceives
		//nolint:gosec // tickets need luck that nobody can guess: ChaCha8
		a := c.session.Decide(b, now, rand.Uint64())
		c.out = c.appendAnswer(c.out, a)
	}
}

// report ends a ticket, which releases its leases, or counts the request once more with its
// response. It sets no variable.
func (c *conn) report(b *gate.Batch, now window.Instant) {
	switch m := &c.m; {
	case m.ticket != 0:
		c.session.Report(b, now, m.ticket)
	case m.ended: // the proxy had no ticket
	default:
		c.session.ReportAgain(b)
	}
}
