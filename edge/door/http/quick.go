package http

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/valyala/fasthttp"
)

// The quick path answers the requests that proxies send nearly always, without the HTTP library: a
// GET or HEAD over HTTP/1.1 with a plain query and no body, about a rule that exists. It sees only
// heads that head has checked and found complete, so both paths agree on where a request ends. It
// answers with the bytes that the library would send, and leaves every other request, faulty ones
// included, to the library as it is: nothing was counted and no byte was changed.
//
//	await: head complete ──plain?──► quick: parameters ─► Decide ─► one write ─► await
//	                         └─no──► the library

// quickResult is what became of a request on the quick path.
type quickResult int

const (
	notQuick  quickResult = iota // it is the library's
	quick                        // it is answered
	quickLast                    // it is answered, and the connection ends: the door drains
)

// answerQuickly answers the complete head of c on the quick path, if that can. An error of the
// write shows at the next read. Each look that says no leaves the request as it came: the library
// then finds the fault and words the problem.
func (c *httpConn) answerQuickly() (became quickResult) {
	defer func() {
		if fault := recover(); fault != nil {
			c.door.panics.Note(fault)
			c.complete, c.answering = false, false
			_, _ = c.Write(panicked)
			c.ended()
			became = quickLast
		}
	}()
	h := c.door
	if c.complete && c.fault == nil && c.head.IsWhole() {
		return c.answerAuth()
	}
	if !c.complete || c.fault != nil || !c.head.Plain() || h.draining.Load() {
		return notQuick
	}
	op, bodiless, query, ok := quickLine(c.head.RequestLine())
	if !ok {
		return notQuick
	}
	params, p := input.Query(query)
	if p != nil {
		return notQuick
	}
	a, p := params.Ask(op)
	if p != nil || !h.decider.Known(a.Rule) {
		return notQuick
	}
	s := h.pool.Get().(*scratch) //nolint:forcetypeassert // see newDoor
	defer h.pool.Put(s)
	began := h.decider.Now()
	d, err := h.decider.Decide(c.lane(), began, rand.Uint64(), a) //nolint:gosec // ChaCha8, seeded by the system
	if err != nil {
		return notQuick // the rule went in between, and nothing was counted
	}
	if c.quickly++; (c.id+c.quickly)%door.LatencyEvery == 0 {
		h.latency.Note(h.decider.Now().Sub(began))
	}
	c.complete = false
	c.answering = false
	last := h.draining.Load()
	h.formatQuickly(s, &d, quickForm{
		op: a.Op, denyStatus: statusOf(&d, params.Status()),
		bodiless: bodiless, last: last,
	})
	_, _ = c.Write(s.out)
	c.ended()
	if last {
		return quickLast
	}
	return quick
}

// panicked is the whole response to a request that met a fault of the daemon.
var panicked = []byte("HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

// quickLine parses a request line that is plain: known path, HTTP/1.1, and in the query no byte
// that is escaped, means a space, or belongs to no URI. The query lies in line.
func quickLine(line []byte) (op gate.Op, bodiless bool, query []byte, ok bool) {
	const version = " HTTP/1.1"
	if len(line) > head.MaxTarget || !bytes.HasSuffix(line, []byte(version)) {
		return 0, false, nil, false
	}
	rest, isGet := bytes.CutPrefix(line[:len(line)-len(version)], []byte("GET /v1/"))
	if !isGet {
		if rest, bodiless = bytes.CutPrefix(rest, []byte("HEAD /v1/")); !bodiless {
			return 0, false, nil, false
		}
	}
	path, query, asked := bytes.Cut(rest, []byte{'?'})
	switch string(path) {
	case "check":
		op = gate.Check
	case "peek":
		op = gate.Peek
	case "count":
		op = gate.Count
	default:
		return 0, false, nil, false
	}
	for _, c := range query {
		if !plainBytes[c] {
			return 0, false, nil, false
		}
	}
	return op, bodiless, query, asked
}

// plainBytes are the bytes of a query that stand for themselves.
var plainBytes = head.SetOf(func(c byte) bool {
	return c > ' ' && c < 0x7f && c != '%' &&
		c != '+' && c != '#'
})

// quickForm is the form of an answer.
type quickForm struct {
	op         gate.Op
	denyStatus int
	bodiless   bool // the headers of an answer with a body, but not the body
	last       bool // the connection ends
}

// formatQuickly writes the whole response to s.out, in the order in which the library writes
// headers.
// A test compares its bytes with the library's for the same request.
func (h *Door) formatQuickly(s *scratch, d *gate.Decision, f quickForm) {
	end := "\r\n\r\n"
	if f.last {
		end = "\r\nConnection: close\r\n\r\n"
	}
	if f.op == gate.Count {
		b := h.date.append(append(s.out[:0], "HTTP/1.1 204 No Content\r\nDate: "...), time.Now())
		s.out = append(b, end...)
		return
	}
	text, is, status, kind := h.texts.Of(d.Rule), verdict.Of(d), fasthttp.StatusOK, typeJSON
	if is.Deny {
		status, kind = f.denyStatus, typeProblem
	}
	s.body = verdict.AppendBody(s.body[:0], text, is, status)
	b := append(strconv.AppendInt(append(s.out[:0], "HTTP/1.1 "...), int64(status), 10), ' ')
	b = append(append(b, fasthttp.StatusMessage(status)...), "\r\nDate: "...)
	b = append(append(h.date.append(b, time.Now()), "\r\nContent-Type: "...), kind...)
	b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), int64(len(s.body)), 10)
	b = append(append(b, "\r\nRateLimit-Policy: "...), text.Policy...)
	b = verdict.AppendRateLimit(append(b, "\r\nRateLimit: "...), text, is)
	b = append(append(b, "\r\nHeadgate-View: "...), verdict.Views[is.View]...)
	b = append(appendVerdict(b, is), end...)
	if !f.bodiless {
		b = append(b, s.body...)
	}
	s.out = b
}

// appendVerdict appends the headers that say whether the request may pass, and why not.
func appendVerdict(b []byte, a verdict.Verdict) []byte {
	if !a.Deny {
		b = append(b, "\r\nHeadgate-Verdict: allow"...)
		if a.Shadow {
			b = append(b, "\r\nHeadgate-Shadow: deny"...)
		}
		return b
	}
	b = append(append(b, "\r\nHeadgate-Verdict: deny\r\nHeadgate-Why: "...), verdict.Whys[a.Why]...)
	return strconv.AppendUint(append(b, "\r\nRetry-After: "...), uint64(a.Retry), 10)
}

// dateLine is the value of the Date header, formatted once a second. The zero value is ready. It is
// safe for concurrent use and takes no lock.
type dateLine struct{ last atomic.Pointer[datedSecond] }

// datedSecond is the text of one second.
type datedSecond struct {
	unix int64
	text []byte
}

// append appends the date at now.
func (d *dateLine) append(b []byte, now time.Time) []byte {
	last, unix := d.last.Load(), now.Unix()
	if last == nil || last.unix != unix {
		last = &datedSecond{unix, fasthttp.AppendHTTPDate(nil, now)}
		d.last.Store(last)
	}
	return append(b, last.text...)
}
