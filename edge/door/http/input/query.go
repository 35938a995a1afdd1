package input

import (
	"bytes"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// Params are the parameters of a query string. The slices point into the query, as parseParams
// decodes in place. rule=per-ip&key=192.0.2.1&cost=2&status=403 has all but a tier.
type Params struct {
	rule, key []byte
	tier      []byte
	cost      uint32 // 0: not given
	// of cost, behind the point
	millionths uint32
	status     int // 0: not given
	given      givenParam
}

// givenParam is a set of parameters, to detect repetitions. Bits, and not a map or a comparison
// with zero: an empty value was given too.
type givenParam uint8

const (
	gaveRule givenParam = 1 << iota
	gaveKey
	gaveCost
	gaveStatus
	gaveTier
)

// Query parses a query string, decoding it in place. Names are matched as written; unknown ones are
// ignored. Unknown names are ignored here, unlike in JSON: proxies and browsers add parameters to
// URLs, and a health check must not fail thereby.
func Query(query []byte) (p Params, bad *api.Problem) {
	for rest := query; len(rest) > 0 && bad == nil; {
		pair := rest
		if i := bytes.IndexByte(rest, '&'); i >= 0 {
			pair, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		name, value := pair, []byte(nil)
		// A name without "=" is given and empty.
		if i := bytes.IndexByte(pair, '='); i >= 0 {
			name, value = pair[:i], pair[i+1:]
		}
		bad = p.set(name, value)
	}
	return p, bad
}

// set parses a parameter.
func (p *Params) set(name, value []byte) *api.Problem {
	switch string(name) {
	case "rule":
		return p.setText("rule", gaveRule, &p.rule, value)
	case "key":
		return p.setText("key", gaveKey, &p.key, value)
	case "cost":
		return p.setCost(value)
	case "status":
		return p.setStatus(value)
	case "tier":
		return p.setText("tier", gaveTier, &p.tier, value)
	}
	return nil
}

// first marks parameter g as given, and reports whether it was not given before.
// rule=a&rule=b could be read as either by whoever looks at the log: it is a problem.
func (p *Params) first(g givenParam) bool {
	fresh := p.given&g == 0
	p.given |= g
	return fresh
}

// setText decodes a rule or a key into to.
func (p *Params) setText(name string, g givenParam, to *[]byte, value []byte) *api.Problem {
	if !p.first(g) {
		return api.GivenTwice(name)
	}
	text, ok := unescape(value)
	if !ok {
		return api.BadParameter(name, "has a % without two hexadecimal digits after it")
	}
	*to = text
	return nil
}

// setCost parses the cost, 1..MaxCost.
func (p *Params) setCost(value []byte) *api.Problem {
	if !p.first(gaveCost) {
		return api.GivenTwice("cost")
	}
	var ok bool
	if p.cost, p.millionths, ok = wire.ParseCost(value); !ok {
		return api.BadParameter("cost", CostRange)
	}
	return nil
}

// setStatus parses the status of refusals, of four. Only these: nginx's auth_request passes on 401
// and 403 and takes all else for a fault of headgate's.
func (p *Params) setStatus(value []byte) *api.Problem {
	if !p.first(gaveStatus) {
		return api.GivenTwice("status")
	}
	switch string(value) {
	case "401":
		p.status = http.StatusUnauthorized
	case "403":
		p.status = http.StatusForbidden
	case "429":
		p.status = http.StatusTooManyRequests
	case "503":
		p.status = http.StatusServiceUnavailable
	default:
		return api.BadParameter("status", "must be 401, 403, 429 or 503")
	}
	return nil
}

// Status returns the status of a denial wished for, 0 for none.
func (p *Params) Status() int { return p.status }

// Ask returns the check that the parameters describe, or the first missing or invalid one. The
// default cost is 1.
// Its slices are Params' own, and so parts of the query: they hold as long as it does.
func (p *Params) Ask(op gate.Op) (gate.Ask, *api.Problem) {
	if p.cost|p.millionths == 0 {
		p.cost = 1
	}
	a := gate.Ask{
		Op: op, Cost: p.cost, Millionths: p.millionths, Rule: p.rule, Key: p.key, Tier: p.tier,
	}
	return a, checkAsk(&a)
}

// BesideBody returns a problem for a parameter a body must give instead.
func (p *Params) BesideBody() *api.Problem {
	for _, t := range [...]struct {
		g    givenParam
		name string
	}{{gaveRule, "rule"}, {gaveKey, "key"}, {gaveCost, "cost"}, {gaveTier, "tier"}} {
		if p.given&t.g != 0 {
			return api.BadParameter(t.name, "is given by the body")
		}
	}
	return nil
}

// checkAsk returns the member of a missing or out of range.
func checkAsk(a *gate.Ask) *api.Problem {
	switch {
	case len(a.Rule) == 0:
		return api.BadParameter("rule", "is missing")
	case len(a.Key) == 0:
		return api.BadParameter("key", "is missing")
	case len(a.Key) > mitigation.MaxKey:
		return api.BadParameter("key", "exceeds 256 bytes")
	}
	return nil
}

// unescape decodes percent-encoding, and + as a space, in place. True: every % had two hexadecimal
// digits. In place, as the result is never longer: a%2Fb becomes a/b, and a+b becomes a b.
func unescape(b []byte) ([]byte, bool) {
	n := 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			if i+2 >= len(b) {
				return nil, false
			}
			hi, lo := api.Unhex(b[i+1]), api.Unhex(b[i+2])
			if hi < 0 || lo < 0 {
				return nil, false
			}
			c = byte(hi<<4 | lo)
			i += 2
		}
		b[n] = c
		n++
	}
	return b[:n], true
}
