package input

import (
	"fmt"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
)

const (
	// MaxChecks is the most checks in a body. so an answer has a bound, about 100 KiB
	MaxChecks = 1000

	// CostRange says which costs a rule without a scale takes.
	CostRange = "must be a whole number from 1 to 1000000"
)

// Checks parses body, decoding strings in place, and appends its checks to into. batch tells a list
// from a single check. Every check returned without a problem is complete and in range. into is
// returned in either case, so its memory is reused. The slices of the checks point into body.
// {"rule": "login", "key": "203.0.113.7"} or {"checks": [{…}, {…}]}. All are read before one is
// decided: nothing is counted of a body that is wrong further down.
func Checks(body []byte, into []gate.Ask) (checks []gate.Ask, batch bool, p *api.Problem) {
	r := api.NewJSONReader(body)
	// JSON is UTF-8 (RFC 8259, 8.1). Keys in other bytes come by a query, percent-encoded.
	if !utf8.Valid(body) {
		return into, false, api.BadParameter("body", "is not UTF-8")
	}
	one := checkFields{ask: gate.Ask{Cost: 1}}
	p = r.Object(func(name []byte) *api.Problem {
		if string(name) != "checks" {
			return one.read(r, name)
		}
		if batch {
			return api.GivenTwice("checks")
		}
		batch = true
		into, p = readChecks(r, into)
		return p
	})
	switch {
	case p != nil:
		return into, batch, p
	case !r.End():
		return into, batch, r.Syntax()
	// Beside a list a rule could be meant for all checks, wrongly.
	case batch && one.given != 0:
		return into, batch, api.BadParameter("checks", "must stand alone")
	case batch:
		return into, batch, nil
	}
	return append(into, one.ask), false, checkAsk(&one.ask)
}

// readChecks reads the list of a batch, of 1..MaxChecks elements.
func readChecks(r *api.JSONReader, into []gate.Ask) ([]gate.Ask, *api.Problem) {
	if !r.Take('[') {
		return into, api.BadParameter("checks", "must be a list")
	}
	if r.Take(']') {
		return into, api.BadParameter("checks", "is empty")
	}
	for {
		if len(into) == MaxChecks {
			return into, api.BadParameter("checks", "has more than 1000 elements")
		}
		q, p := readCheck(r)
		if p != nil {
			return into, asInCheck(p, len(into))
		}
		into = append(into, q)
		if r.Take(']') {
			return into, nil
		}
		if !r.Take(',') {
			return into, r.Syntax()
		}
	}
}

// readCheck reads an element of a batch.
func readCheck(r *api.JSONReader) (gate.Ask, *api.Problem) {
	one := checkFields{ask: gate.Ask{Cost: 1}}
	if p := r.Object(func(name []byte) *api.Problem { return one.read(r, name) }); p != nil {
		return one.ask, p
	}
	return one.ask, checkAsk(&one.ask)
}

// checkFields is a check whose members are being read.
type checkFields struct {
	ask   gate.Ask
	given givenParam
}

// read parses the value of the member called name. Unknown and repeated members are faults: a
// misspelt cost must not count as 1.
func (f *checkFields) read(r *api.JSONReader, name []byte) *api.Problem {
	g := memberOf(name)
	switch {
	case g == 0:
		return api.BadParameter(api.Shown(name), "is not a member of a check")
	case f.given&g != 0:
		return api.GivenTwice(string(name))
	}
	f.given |= g
	switch g {
	case gaveRule:
		return r.Text("rule", &f.ask.Rule)
	case gaveKey:
		return r.Text("key", &f.ask.Key)
	case gaveTier:
		return r.Text("tier", &f.ask.Tier)
	}
	var cost []byte
	if r.Peek() != '"' {
		cost = r.Decimal()
	} else if p := r.Text("cost", &cost); p != nil {
		return p
	}
	var ok bool
	if f.ask.Cost, f.ask.Millionths, ok = wire.ParseCost(cost); !ok {
		return api.BadParameter("cost", CostRange)
	}
	return nil
}

// memberOf returns the member of a check called name; 0: none. A map would be made anew for each
// member, in half of the time of the whole.
func memberOf(name []byte) givenParam {
	switch string(name) {
	case "rule":
		return gaveRule
	case "key":
		return gaveKey
	case "cost":
		return gaveCost
	case "tier":
		return gaveTier
	}
	return 0
}

// InCheck names a member of the i-th check, from 0.
func InCheck(i int, name string) string { return fmt.Sprintf("checks[%d].%s", i, name) }

// asInCheck returns p as a problem of the i-th check, from 0.
// Some problems are about the body as a whole and stay so.
func asInCheck(p *api.Problem, i int) *api.Problem {
	if !p.Whole {
		p.Parameter = InCheck(i, p.Parameter)
	}
	return p
}
