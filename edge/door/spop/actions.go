package spop

import (
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/window"
)

// An action sets a variable: its type, three arguments, the scope of a transaction. The variable is
// in the transaction's scope: request and response of an exchange see it, no other does.
const (
	setVariable = 1
	ofAction    = 3
	transaction = 2
)

// mostLimits is the most rules whose limits an answer shows. A header of four rules is some 200
// bytes; more would be read by nobody.
const mostLimits = 4

// setName appends the begin of an action that sets the variable called name.
// HAProxy puts the scope and the prefix of its own configuration before it: deny becomes
// txn.headgate.deny.
func setName(b []byte, name string) []byte {
	return appendText(append(b, setVariable, ofAction, transaction), name)
}

// setBool appends an action that sets a truth.
// A boolean's value is in the upper half of the byte of its type.
func setBool(b []byte, name string, v bool) []byte {
	if v {
		return append(setName(b, name), byte(boolean)|1<<4)
	}
	return append(setName(b, name), byte(boolean))
}

// setNumber appends an action that sets a number.
func setNumber(b []byte, name string, n uint64) []byte {
	return appendVarint(append(setName(b, name), byte(uint32s)), n)
}

// setText appends an action that sets a text.
func setText[T string | []byte](b []byte, name string, t T) []byte {
	return appendText(append(setName(b, name), byte(text)), t)
}

// appendDecision appends the variables of a check. deny is set for every answer, false too: a
// request that HAProxy sends a second time must not see the first's.
func (c *conn) appendDecision(b []byte, d *gate.Decision, now window.Instant) []byte {
	b = setBool(b, "deny", d.Deny)
	if d.Deny {
		b = setNumber(b, "status", uint64(ask.StatusOf(d.Why))) // 429 or 503
	}
	b = c.appendRule(b, d)
	if d.Delay > 0 {
		b = setNumber(b, "delay", uint64(verdict.Millis(d.Delay)))
	}
	if verdict.Silent(d) {
		return b
	}
	c.nearest = append(c.nearest[:0], d)
	return c.appendNumbers(b, now)
}

// appendRule appends the variables of the question answering a request.
func (c *conn) appendRule(b []byte, d *gate.Decision) []byte {
	v := verdict.Of(d)
	b = setText(b, "rule", d.Rule.Name)
	if d.Deny {
		b = setText(b, "why", verdict.Whys[v.Why])
		if v.Retry > 0 {
			b = setNumber(b, "retry_after", uint64(v.Retry))
		}
	}
	return b
}

// appendAnswer appends the variables of a whole request.
func (c *conn) appendAnswer(b []byte, a *ask.Answer) []byte {
	b = setBool(b, "deny", a.Deny)
	if a.Deny {
		b = setNumber(b, "status", uint64(a.Status)) // 400 to 599
	}
	switch {
	case a.By == nil:
	case !a.Silent:
		b = c.appendRule(b, a.By)
	// A silent denial says why and no more: the log of the proxy needs it, and the visitor does not
	// see variables.
	case a.Deny:
		b = setText(b, "why", verdict.Whys[a.By.Why])
	}
	if a.Deceive {
		b = setBool(b, "deceive", true)
	}
	if a.Why != ask.ByRules {
		b = setText(b, "why", a.Why.String())
		if a.Why == ask.ByLoad {
			b = setNumber(b, "retry_after", ask.RetryShedSeconds)
		}
	}
	c.nearest = c.nearest[:0]
	c.session.Decisions(mostLimits, c.near)
	b = c.appendNumbers(b, c.session.At())
	if a.Delay > 0 {
		b = setNumber(b, "delay", uint64(verdict.Millis(a.Delay)))
	}
	if a.Full {
		b = setBool(b, "full", true)
	}
	if a.Ticket != 0 {
		c.Owe(a.Ticket)
		c.line = wire.AppendTicket(c.line[:0], a.Ticket)
		b = setText(b, "ticket", c.line)
	}
	return b
}

// appendNumbers appends the headers of the nearest rules, those nearest to their limits first, of
// decisions at now. No rule, no variables.
func (c *conn) appendNumbers(b []byte, now window.Instant) []byte {
	if len(c.nearest) == 0 {
		return b
	}
	c.headersAt = len(b)
	form, texts := &c.door.form, &c.door.texts
	if !form.NoDraft {
		c.line = c.line[:0]
		for _, d := range c.nearest {
			c.line = append(comma(c.line), texts.Of(d.Rule).Policy...)
		}
		b = setText(b, "ratelimit_policy", c.line)
		c.line = c.line[:0]
		for _, d := range c.nearest {
			c.line = verdict.AppendRateLimit(comma(c.line), texts.Of(d.Rule), verdict.Of(d))
		}
		b = setText(b, "ratelimit", c.line)
	}
	if form.X {
		for i, n := range form.Numbers(c.nearest[0], now) {
			b = setNumber(b, xVariables[i], uint64(n)) // not negative
		}
	}
	c.headersEnd = len(b)
	return b
}

var xVariables = [...]string{"x_ratelimit_limit", "x_ratelimit_remaining", "x_ratelimit_reset"}

// comma appends the sign between two elements of a list.
func comma(b []byte) []byte {
	if len(b) > 0 {
		return append(b, ", "...)
	}
	return b
}
