package http

import (
	"errors"
	"math/rand/v2"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// isActPath reports whether path is about places and pools.
func isActPath(path []byte) bool {
	switch string(path) {
	case "/v1/acquire", "/v1/release", "/v1/renew", "/v1/settle", "/v1/load":
		return true
	}
	return false
}

// answerAct answers the paths about places and pools, which take a query or JSON. An acquire is
// answered like a check, the others 204. GET is allowed though with effects: proxies able to send a
// subrequest can often send nothing else.
func (x *exchange) answerAct() *api.Problem {
	if len(x.line.target) > head.MaxTarget {
		return head.LongTarget()
	}
	switch string(x.line.method) {
	case http.MethodGet, http.MethodPost:
	default:
		return x.onlyPost("GET, POST")
	}
	var body []byte
	if x.c.left != 0 {
		if p := x.readBody(); p != nil {
			return p
		}
		body = x.received
	}
	// isActPath has seen the path, so the name is known.
	name := string(x.line.path[len("/v1/"):])
	if name == "load" {
		return x.load(body)
	}
	a, p := input.ActOf(name, x.line.query, body)
	switch {
	case p != nil:
		return p
	case name == "acquire":
		return x.acquire(a.Ask)
	case name == "settle":
		return x.settle(&a)
	}
	do := x.room.Release
	if name == "renew" {
		do = x.room.Renew
	}
	// Late is no fault: the lease ran out and the places are free, as after a release.
	late, err := do(x.decider.Now(), a.Rule, a.Key, a.Lease)
	if err != nil {
		return x.unanswered("rule", a.Rule, err)
	}
	if late {
		x.field("Headgate-Late", "1")
	}
	x.status = http.StatusNoContent
	return nil
}

// load notes how busy a pool is. Whoever gives no name is known by address. By address alone,
// without the port, or each connection of a worker would be another source.
func (x *exchange) load(body []byte) *api.Problem {
	l, p := input.LoadOf(x.line.query, body)
	if p != nil {
		return p
	}
	if l.From == nil {
		l.From = []byte("unix")
		if x.c.peer.IsValid() {
			l.From = x.c.peer.AppendTo(nil)
		}
	}
	switch err := x.room.Load(x.decider.Now(), l.Pool, l.From, l.Share); {
	case errors.Is(err, ask.ErrUnknownPool):
		return api.NewProblem(http.StatusNotFound, "pool",
			`"`+api.EscapeKey(l.Pool[:min(len(l.Pool),
				api.MaxNameShown)])+`" is not a pool of this node`)
	case err != nil:
		return api.NewProblem(http.StatusServiceUnavailable, "from",
			"is one source more than this pool has room for")
	}
	x.status = http.StatusNoContent
	return nil
}

// acquire takes places.
func (x *exchange) acquire(a gate.Ask) *api.Problem {
	now := x.decider.Now()
	defer x.clock(now)
	//nolint:gosec // ChaCha8, seeded by the system
	d, err := x.decider.Decide(x.c.ID, now, rand.Uint64(), a)
	if err != nil {
		return x.unanswered("rule", a.Rule, err)
	}
	x.answerDecision(&d, now, statusOf(&d, 0))
	if d.Full {
		x.field("Headgate-Full", "1")
	}
	if d.Lease == 0 {
		return nil
	}
	x.c.Owe(d.Lease)
	number := wire.AppendTicket(nil, d.Lease)
	x.field("Headgate-Lease", string(number))
	// The body was written as a check's; the lease goes in before the end.
	x.body = append(x.body[:len(x.body)-len("}\n")], `,"lease":"`...)
	x.body = append(append(x.body, number...), "\"}\n"...)
	return nil
}

// settle corrects the admitted cost, and answers 204.
func (x *exchange) settle(a *input.Act) *api.Problem {
	b := x.lane().Batch(x.decider.Now(), rand.Uint64)
	defer b.End()
	if err := b.Settle(&a.Ask, a.Less); err != nil {
		return x.unanswered("rule", a.Rule, err)
	}
	x.status = http.StatusNoContent
	return nil
}

// wrongKind answers a question not for rules of r's kind; r is nil if removed by a reload.
func wrongKind(parameter string, r *mitigation.Rule) *api.Problem {
	if r != nil && r.Kind == mitigation.Concurrency {
		return api.BadParameter(parameter,
			"is of kind concurrency: take and return its places with /v1/acquire and /v1/release")
	}
	return api.BadParameter(parameter, "is not of kind concurrency: it has no places to take")
}
