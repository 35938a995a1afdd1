package http

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
)

// isWholePath reports whether path is about whole requests in JSON or a query.
func isWholePath(path []byte) bool {
	return string(path) == "/v1/ask" || string(path) == "/v1/report"
}

// answerWhole answers /v1/ask, which takes JSON, and /v1/report, which takes JSON or a query.
func (x *exchange) answerWhole() *api.Problem {
	if len(x.line.target) > head.MaxTarget {
		return head.LongTarget()
	}
	report := string(x.line.path) == "/v1/report"
	hasBody, isPost := x.c.left != 0, string(x.line.method) == http.MethodPost
	switch {
	case report && !hasBody && (isPost || string(x.line.method) == http.MethodGet):
		list, p := input.Members(x.line.query)
		if p == nil {
			p = x.report(list)
		}
		return p
	case !isPost:
		if report {
			return x.onlyPost("GET, POST")
		}
		return x.onlyPost("POST")
	case !hasBody:
		return api.BadParameter("body", "is missing")
	}
	if p := x.readBody(); p != nil {
		return p
	}
	// RFC 8259, 8.1. A reader with U+FFFD for bad bytes would make a key of two.
	if !utf8.Valid(x.received) {
		return api.BadParameter("body", "is not UTF-8")
	}
	requests, batch, p := input.Requests(x.received)
	switch {
	case p != nil:
		return p
	case report && batch:
		return api.BadParameter("requests", "is not for reports")
	case report:
		return x.report(requests[0])
	case !batch:
		return x.askOne(requests[0])
	}
	return x.askAll(requests)
}

// askOne answers a request with the request's status.
func (x *exchange) askOne(list []input.Member) *api.Problem {
	s := x.sessions.Get().(*ask.Session) //nolint:forcetypeassert // see newDoor
	defer x.sessions.Put(s)
	if _, p := x.ask(s, list, false); p != nil {
		return p
	}
	now := x.decider.Now()
	defer x.clock(now)
	b := x.lane().Batch(now, rand.Uint64)
	a := s.Decide(&b, now, rand.Uint64()) //nolint:gosec // ChaCha8, seeded by the system
	b.End()
	x.c.Owe(a.Ticket)
	x.body = append(x.appendResult(x.body, a), '\n')
	x.answerFields(s, a)
	if a.Deny {
		x.status, x.kind = a.Status, typeProblem
	}
	return nil
}

// askAll answers a list with 200 and all results. Every request is checked before any is decided.
// Sessions are filled twice, once for the check and once for the decision: there is a single
// session, and a hundred would be 6 MiB.
func (x *exchange) askAll(requests [][]input.Member) *api.Problem {
	s := x.sessions.Get().(*ask.Session) //nolint:forcetypeassert // see newDoor
	defer x.sessions.Put(s)
	for i, list := range requests {
		if _, p := x.ask(s, list, false); p != nil {
			if !p.Whole {
				p.Parameter = "requests[" + strconv.Itoa(i) + "]." + p.Parameter
			}
			return p
		}
	}
	now := x.decider.Now()
	defer x.clock(now)
	b := x.lane().Batch(now, rand.Uint64)
	defer b.End()
	x.body = append(x.body, `{"results":[`...)
	for i, list := range requests {
		if _, p := x.ask(s, list, false); p != nil {
			return p
		}
		if i > 0 {
			x.body = append(x.body, ',')
		}
		a := s.Decide(&b, now, rand.Uint64()) //nolint:gosec // as above
		x.c.Owe(a.Ticket)
		x.body = x.appendResult(x.body, a)
	}
	x.body = append(x.body, "]}\n"...)
	return nil
}

// report counts a response and answers 204.
func (x *exchange) report(list []input.Member) *api.Problem {
	s := x.sessions.Get().(*ask.Session) //nolint:forcetypeassert // see newDoor
	defer x.sessions.Put(s)
	ticket, p := x.ask(s, list, true)
	if p != nil {
		return p
	}
	now := x.decider.Now()
	b := x.lane().Batch(now, rand.Uint64)
	defer b.End()
	if ticket == 0 {
		s.ReportAgain(&b)
	} else if !s.Report(&b, now, ticket) {
		x.field("Headgate-Late", "1")
	}
	x.status = http.StatusNoContent
	return nil
}
