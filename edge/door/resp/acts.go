package resp

import (
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// The commands below are the lines of the same names in another protocol, so a ticket or a lease
// can be used by the connection that got it. Done is 1; 0 is late: unknown, used or too old.

// done answers 1, 0 if late, or an error.
func (c *conn) done(late bool, err error) {
	switch {
	case err != nil:
		c.code(lines.CodeOf(err))
	case late:
		c.integer(0)
	default:
		c.integer(1)
	}
}

// leased appends the fields of places taken, and returns the number of pairs.
func (c *conn) leased() (pairs int) {
	if c.d.Full {
		pairs += c.number("full", 1)
	}
	if c.d.Lease == 0 {
		return pairs
	}
	c.Owe(c.d.Lease)
	bulk(&c.reply, "lease")
	bulk(&c.reply, wire.AppendTicket(c.text64[:0], c.d.Lease))
	return pairs + 1
}

// acquire answers HEADGATE.ACQUIRE rule key [cost].
func (c *conn) acquire(args [][]byte) { c.byRule(gate.Acquire, args) }

// release answers HEADGATE.RELEASE rule key [lease].
func (c *conn) release(args [][]byte) { c.atLease((*ask.Room).Release, args) }

// renew answers HEADGATE.RENEW rule key [lease].
func (c *conn) renew(args [][]byte) { c.atLease((*ask.Room).Renew, args) }

// atLease does something to a lease, by default the oldest of the key.
func (c *conn) atLease(
	do func(*ask.Room, window.Instant, []byte, []byte, uint64) (bool, error), args [][]byte,
) {
	lease, ok := uint64(0), true
	if len(args) == 3 {
		lease, ok = wire.ParseTicket(args[2])
	}
	if !ok || c.session == nil || len(args[1]) == 0 || len(args[1]) > wire.MaxKey {
		c.code(wire.BadRequest)
		return
	}
	c.done(do(c.session.Room(), c.now, args[0], args[1], lease))
}

// settle answers HEADGATE.SETTLE rule key delta.
func (c *conn) settle(args [][]byte) {
	a := gate.Ask{Rule: args[0], Key: args[1]}
	less, ok := false, false
	less, a.Cost, a.Millionths, ok = wire.ParseDelta(args[2])
	if !ok || len(args[1]) == 0 || len(args[1]) > wire.MaxKey {
		c.code(wire.BadRequest)
		return
	}
	c.done(false, c.batch.Settle(&a, less))
}

// limit answers HEADGATE.LIMIT rule key: the limit of the key, and the source. Nothing is
// counted, and changes need the admin listener.
func (c *conn) limit(args [][]byte) {
	if len(args[1]) == 0 || len(args[1]) > wire.MaxKey {
		c.code(wire.BadRequest)
		return
	}
	is, ok := c.door.gate.Inspect(c.now, 0, string(args[0]), args[1], nil)
	if !ok {
		c.code(wire.UnknownRule)
		return
	}
	at := c.beginMap()
	n := c.units("limit", is.Rule.Limit, &is.Rule) + c.text("source", is.Source) +
		c.units("used", is.Count.Used, &is.Rule) +
		c.units("remaining", is.Decision.Remaining, &is.Rule)
	if is.Rule.Unit != "" {
		n += c.text("unit", is.Rule.Unit)
	}
	if w := is.Rule.Window; w%time.Second == 0 && w > 0 {
		n += c.number("window", int64(w/time.Second))
	} else if w > 0 {
		n += c.text("window", strconv.FormatFloat(w.Seconds(), 'f', -1, 64))
	}
	if reset := is.Decision.Reset; reset > 0 {
		n += c.number("reset", int64((reset+time.Second-1)/time.Second))
	}
	c.endMap(at, n)
}

// units appends a field with parts of r: an integer, or a text where r has a Scale.
func (c *conn) units(name string, parts int64, r *mitigation.Rule) int {
	if r.Scale == 0 {
		return c.number(name, parts)
	}
	return c.text(name, string(wire.AppendDecimal(nil, uint64(max(parts, 0)), r.Scale)))
}

// load answers HEADGATE.LOAD pool share. The source is known by the address.
func (c *conn) load(args [][]byte) {
	share, ok := wire.ParseShare(args[1])
	if !ok || c.session == nil {
		c.code(wire.BadRequest)
		return
	}
	from := []byte("unix")
	if c.peer.IsValid() {
		from = c.peer.AppendTo(c.text64[:0])
	}
	c.done(false, c.session.Room().Load(c.now, args[0], from, share))
}

// report answers HEADGATE.REPORT field value …
func (c *conn) report(args [][]byte) {
	if c.session == nil || len(args)%2 != 0 {
		c.code(wire.BadRequest)
		return
	}
	r := reported{f: c.session.Read(c.peer)}
	for i := 0; i < len(args); i += 2 {
		if code := r.take(c.session, args[i], args[i+1]); code != wire.NoError {
			c.code(code)
			return
		}
	}
	r.f.End()
	switch path := c.session.Request.Path != nil; {
	case !r.status || !r.ended && !path:
		c.code(wire.BadRequest)
	case r.ticket != 0:
		c.done(!c.session.Report(&c.batch, c.now, r.ticket), nil)
	case r.ended: // a program's word for "there was no ticket"
		c.integer(1)
	default:
		c.session.ReportAgain(&c.batch)
		c.integer(1)
	}
}

// reported is a report whose fields are being read.
type reported struct {
	f             *request.Reader
	ticket        uint64
	ended, status bool // a ticket, a status is given
}

// take reads a field. One without a value, or with "-", is absent.
func (r *reported) take(s *ask.Session, name, value []byte) wire.Code {
	absent, ok := len(value) == 0 || string(value) == "-", true
	switch string(name) {
	case "ticket":
		ok, r.ended = !r.ended, true
		if !absent && ok {
			r.ticket, ok = wire.ParseTicket(value)
		}
	case "status":
		ok, r.status = !r.status, true
		if !absent && ok {
			s.Request.Status, ok = wire.ParseStatus(value)
		}
	case "ms", "s":
		if first := s.Took == ask.NoTime; !absent {
			s.Took, ok = wire.ParseTook(name, value)
			ok = ok && first
		}
	case "cost":
		if !absent {
			s.Cost, s.Millionths, ok = wire.ParseCost(value)
		}
	default:
		p, known := wire.FieldOf(name, true)
		if p.Value = value; !known {
			return wire.UnknownField
		}
		if absent && p.Field == wire.FieldResponse {
			return wire.NoError
		}
		return lines.Read(r.f, &p)
	}
	if !ok {
		return wire.BadRequest
	}
	return wire.NoError
}
