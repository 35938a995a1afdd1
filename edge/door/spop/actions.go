package spop

import (
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
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

// appendError appends the variables of a message that was not counted.
// No other variable is set, "deny" neither: the proxy's rule on deny does not match, and the
// request passes.
func appendError(b []byte, code wire.Code) []byte {
	return setText(b, "error", code.String())
}

// appendDecision appends the variables of a check. deny is set for every answer, false too: a
// request that HAProxy sends a second time must not see the first's.
func (c *conn) appendDecision(b []byte, d *gate.Decision) []byte {
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
	text := c.door.texts.Of(d.Rule)
	c.headersAt = len(b)
	b = setText(b, "ratelimit_policy", text.Policy)
	c.line = verdict.AppendRateLimit(c.line[:0], text, verdict.Of(d))
	b = setText(b, "ratelimit", c.line)
	c.headersEnd = len(b)
	return b
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
	b = c.appendLimits(b)
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

// appendLimits appends the headers of the asked rules, those nearest to their limits first. The
// line is built before it is known whether there is anything: no rule, no variables.
func (c *conn) appendLimits(b []byte) []byte {
	c.line = c.line[:0]
	c.session.Decisions(mostLimits, c.addPolicy)
	if len(c.line) == 0 {
		return b
	}
	c.headersAt = len(b)
	b = setText(b, "ratelimit_policy", c.line)
	c.line = c.line[:0]
	c.session.Decisions(mostLimits, c.addLimit)
	b = setText(b, "ratelimit", c.line)
	c.headersEnd = len(b)
	return b
}

// comma appends the sign between two elements of a list.
func comma(b []byte) []byte {
	if len(b) > 0 {
		return append(b, ", "...)
	}
	return b
}
