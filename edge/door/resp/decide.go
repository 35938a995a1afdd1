package resp

import (
	"math/rand/v2"
	"strconv"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/resp/throttle"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// throttle answers CL.THROTTLE key max_burst count period [quantity] with five numbers: whether it
// is denied, the limit, the rest, seconds to the next try (-1: none is needed, or none helps), and
// seconds until all is back. "CL.THROTTLE user 15 30 60 1" is a burst of 15 more than 1, 30 each 60
// seconds: the numbers travel with each call and are the rule.
func (c *conn) throttle(args [][]byte) {
	var n [4]int64
	// quantity; 0 looks without taking
	n[3] = 1
	for i, arg := range args[1:] {
		v, ok := integer(arg)
		if !ok {
			c.wrong("ERR " + throttle.ErrRange.Error())
			return
		}
		n[i] = v
	}
	q, err := c.door.quotas.of(numbers{n[0], n[1], n[2]}, c.now)
	if err != nil {
		c.wrong("ERR " + err.Error())
		return
	}
	r, displaced, err := c.door.table.Take(q, args[0], int64(c.now), n[3])
	if err != nil {
		c.wrong("ERR " + err.Error())
		return
	}
	if displaced {
		c.door.displaced.Add(1)
	}
	c.five(&r)
}

// integer reads a whole number of 64 bits as redis-cell does, which takes a plus before it too.
func integer(b []byte) (n int64, ok bool) {
	const longest = len("-9223372036854775808")
	if n, ok = number(b); ok || len(b) > longest { // nearly all are short
		return n, ok
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

// five answers r, as the mode of the rule has it.
// Without a rule of the door's name it enforces: the numbers came with the call, and nobody asked
// for less.
func (c *conn) five(r *throttle.Result) {
	mode := mitigation.Enforce
	if rule := c.door.gate.Rule(c.door.rule); rule != nil {
		mode = rule.Mode
	}
	if c.door.room != nil && c.door.room.Killed() {
		mode = mitigation.Off
	}
	if r.Limited {
		c.door.limited.Add(1)
	}
	// It was counted and is reported; only the answer says that it passes.
	if mode != mitigation.Enforce {
		r.Limited, r.Retry = false, -1
	}
	c.list(5)
	c.integer(map[bool]int64{false: 0, true: 1}[r.Limited])
	c.integer(r.Limit)
	c.integer(r.Remaining)
	c.integer(throttle.Seconds(r.Retry))
	c.integer(throttle.Seconds(r.Reset))
}

// check answers HEADGATE.CHECK rule key [cost].
// It is a line "check rule key cost" in another protocol, and answers with the same words as keys.
func (c *conn) check(args [][]byte) { c.byRule(gate.Check, args) }

// byRule answers a question about a rule.
func (c *conn) byRule(op gate.Op, args [][]byte) {
	a, ok := gate.Ask{Op: op, Rule: args[0], Key: args[1]}, true
	if len(args) == 3 {
		a.Cost, a.Millionths, ok = wire.ParseCost(args[2])
	}
	switch {
	case !ok || len(args[1]) == 0:
		c.code(wire.BadRequest)
		return
	case len(args[1]) > wire.MaxKey:
		c.code(wire.TooLong)
		return
	}
	// The arguments lie in the connection's buffer, which stays as it is until all its commands are
	// answered.
	if err := c.batch.Decide(&c.d, &a); err != nil {
		c.code(lines.CodeOf(err))
		return
	}
	at := c.beginMap()
	n := c.verdict(c.d.Deny) + c.decision(&c.d) + c.leased()
	if status := ask.StatusOf(c.d.Why); c.d.Deny && status != tooManyRequests {
		n += c.number("status", int64(status))
	}
	c.endMap(at, n)
}

// ask answers HEADGATE.ASK field value …
// An odd number of arguments has a name without a value.
func (c *conn) ask(args [][]byte) {
	if c.session == nil || len(args)%2 != 0 {
		c.code(wire.BadRequest)
		return
	}
	f := c.session.Read(c.peer)
	given := uint16(0) // fields, a bit each
	for i := 0; i < len(args); i += 2 {
		switch on := string(args[i+1]) == "ok"; string(args[i]) { // options, as in a line
		case "delay":
			c.session.CanWait = on
			continue
		case "deceive":
			c.session.CanDeceive = on
			continue
		}
		p, ok := wire.FieldOf(args[i], false)
		if p.Value = args[i+1]; !ok {
			c.code(wire.UnknownField)
			return
		}
		code := lines.Read(f, &p)
		if p.Field < wire.FieldHeader && given>>p.Field&1 == 1 {
			code = wire.BadRequest
		}
		if code != wire.NoError {
			c.code(code)
			return
		}
		given |= 1 << p.Field
	}
	if given>>wire.FieldPath&1 == 0 {
		c.code(wire.BadRequest)
		return
	}
	f.End()
	//nolint:gosec // tickets need luck that nobody can guess: ChaCha8
	a := c.session.Decide(&c.batch, c.now, rand.Uint64())
	c.whole(a)
}

// whole answers a whole request. The number of pairs is known at the end only, so endMap sets it.
func (c *conn) whole(a *ask.Answer) {
	at := c.beginMap()
	n := c.verdict(a.Deny)
	switch a.Why {
	case ask.ByRules:
	case ask.ByShadow:
		n += c.text("why", "shadow") + c.text("view", string(verdict.Views[a.View]))
	default:
		n += c.text("why", a.Why.String())
	}
	if a.Why == ask.ByLoad {
		n += c.text("pool", a.Pool) + c.number("retry", ask.RetryShedSeconds) + c.ratio(a.Ratio)
	}
	if a.Deceive {
		n += c.number("deceive", 1)
	}
	if a.Delay > 0 {
		n += c.number("delay", int64(verdict.Millis(a.Delay)))
	}
	if a.Full {
		n += c.number("full", 1)
	}
	switch {
	case a.By != nil && !a.Silent:
		n += c.decision(a.By)
	case a.By != nil && a.Deny:
		n += c.text("why", a.By.Why.String())
	}
	if a.Shadow && !a.Deny && !a.Silent {
		n += c.text("shadow", "deny")
	}
	if a.Deny && a.Status != tooManyRequests {
		n += c.number("status", int64(a.Status))
	}
	if a.Ticket != 0 {
		c.Owe(a.Ticket)
		bulk(&c.reply, "ticket")
		c.head('$', wire.TicketDigits)
		c.out = append(wire.AppendTicket(c.out, a.Ticket), "\r\n"...)
		n++
	}
	c.endMap(at, n)
}

// tooManyRequests is the status of a denial an answer need not name.
const tooManyRequests = 429

// verdict appends the field of that name, and returns the number of pairs.
func (c *conn) verdict(deny bool) int {
	if deny {
		return c.text("verdict", "deny")
	}
	return c.text("verdict", "allow")
}

// decision appends the fields of a decision by a rule.
func (c *conn) decision(d *gate.Decision) (pairs int) {
	v := verdict.Of(d)
	pairs = c.text("rule", d.Rule.Name) + c.units("remaining", v.Remaining, d.Rule) +
		c.number("reset", int64(v.Reset))
	bulk(&c.reply, "view")
	bulk(&c.reply, verdict.Views[v.View])
	pairs++
	if v.Shadow {
		pairs += c.text("shadow", "deny")
	}
	if !v.Deny {
		return pairs
	}
	bulk(&c.reply, "why")
	bulk(&c.reply, verdict.Whys[v.Why])
	if pairs++; v.Retry > 0 {
		pairs += c.number("retry", int64(v.Retry))
	}
	if v.Why == mitigation.ByShed {
		pairs += c.ratio(v.Ratio)
	}
	if v.Blast > 0 {
		pairs += c.number("blast", int64(v.Blast))
	}
	return pairs
}

// ratio appends the share of requests that is being dropped, in digits.
// A text, as RESP2 has no fractions; clients of either version read the same.
func (c *conn) ratio(is mitigation.Ratio) int {
	var digits [24]byte
	bulk(&c.reply, "ratio")
	bulk(&c.reply, strconv.AppendFloat(digits[:0], is.Float(), 'f', 2, 64))
	return 1
}

// text appends a pair.
func (c *conn) text(name, value string) int {
	bulk(&c.reply, name)
	bulk(&c.reply, value)
	return 1
}

// number appends a pair.
func (c *conn) number(name string, n int64) int {
	bulk(&c.reply, name)
	c.integer(n)
	return 1
}
