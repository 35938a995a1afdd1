package input

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Act is a request about places, neither a count nor a whole request: take, give back, or hold
// longer.
type Act struct {
	gate.Ask        // of an acquire; of the others Rule and Key only
	Lease    uint64 // of a release or a renewal; 0: the key's oldest
	Less     bool   // of a settle: by the opposite of Cost
}

// ActOf reads a request for the operation op, acquire, release, renew or settle, from a query or
// from JSON. Unknown and repeated members are problems. The key and the rule are checked last, as
// in a check, so a member that does not exist is told first. rule=jobs&key=anna&cost=2&lease=60 is
// an acquire of two places for a minute.
func ActOf(name string, query, body []byte) (a Act, p *api.Problem) {
	list, p := oneOf(query, body)
	a.Ask = gate.Ask{Op: gate.Acquire}
	if name != "settle" {
		a.Cost = 1
	}
	for i := range list {
		// After the first fault the rest is passed over: an answer has a single problem.
		if p == nil && given(list[:i], &list[i]) {
			p = api.GivenTwice(api.Shown(list[i].Name))
		}
		if p == nil {
			p = a.set(name, &list[i])
		}
	}
	if p == nil {
		p = checkAsk(&a.Ask)
	}
	if p == nil && name == "settle" && a.Cost|a.Millionths == 0 {
		p = api.BadParameter("delta", "is missing")
	}
	return a, p
}

// oneOf returns the members of a query, or of JSON where there is a body.
// A body goes before a query: a proxy may add parameters of its own to any URL.
func oneOf(query, body []byte) ([]Member, *api.Problem) {
	if body == nil {
		return Members(query)
	}
	if !utf8.Valid(body) {
		return nil, api.BadParameter("body", "is not UTF-8")
	}
	all, batch, p := Requests(body)
	switch {
	case p != nil:
		return nil, p
	case batch:
		return nil, api.BadParameter("requests", "is not for this path")
	}
	return all[0], nil
}

// given reports whether m's name is among list.
// Lists are short: a handful of members.
func given(list []Member, m *Member) bool {
	for i := range list {
		if string(list[i].Name) == string(m.Name) {
			return true
		}
	}
	return false
}

// set sets a member. lease means seconds in an acquire, and the number of a lease in all others: so
// the two are told apart by the operation.
func (a *Act) set(operation string, m *Member) *api.Problem {
	acquire := operation == "acquire"
	switch name := string(m.Name); {
	case name == "rule":
		a.Rule = m.Value
	case name == "key":
		a.Key = m.Value
	case name == "cost" && acquire:
		var ok bool
		if a.Cost, a.Millionths, ok = wire.ParseCost(m.Value); !ok {
			return api.BadParameter("cost", CostRange)
		}
	case name == "tier" && acquire:
		a.Tier = m.Value
	case name == "delta" && operation == "settle":
		var ok bool
		// A plus in a query not written %2B has become a blank.
		a.Less, a.Cost, a.Millionths, ok = wire.ParseDelta(bytes.TrimPrefix(m.Value, []byte{' '}))
		if !ok {
			return api.BadParameter("delta",
				"must be a whole number with a sign, 1 to 1000000 or -1 to -1000000")
		}
	// A settlement is of a key's count, which has no leases.
	case name == "lease" && operation == "settle":
		return api.BadParameter("lease", "is not a member of this request")
	case name == "lease" && acquire:
		n, err := strconv.ParseUint(string(m.Value), 10, 32)
		if err != nil || n < 1 || n > math.MaxInt32 {
			return api.BadParameter("lease", "must be a whole number of seconds, at least 1")
		}
		a.For = uint32(n)
	case name == "lease":
		var ok bool
		if a.Lease, ok = wire.ParseTicket(m.Value); !ok {
			return api.BadParameter("lease", "must be the 16 hexadecimal digits of a lease")
		}
	default:
		return api.BadParameter(api.Shown(m.Name), "is not a member of this request")
	}
	return nil
}
