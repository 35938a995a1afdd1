package http

import (
	"bytes"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

// exchange is a request and the answer:
//
//	head ─► line ─► check, batch, whole request or places ─► status, fields, body ─► write
//	                    └─► problem, nothing was counted ─► refuse ───────────────┘
//
// It is pooled rather than the connection's: ten thousand connections waiting must not hold a
// buffer each. It is for a single goroutine.
type exchange struct {
	*Door
	c    *conn
	line line

	status int
	kind   []byte // of body
	fields []byte // header fields, each after the end of the line before it
	body   []byte
	// of a whole request, whose fields stand in another order
	whole    bool
	bodiless bool // the headers of an answer with a body, but not the body
	last     bool // the connection ends with the answer

	received []byte // body of the request
	checks   []gate.Ask
	loan     budget.Loan // of the request
	out      []byte      // answers that are not sent
}

// begin prepares x for the requests of c.
func (x *exchange) begin(c *conn) {
	x.c, x.line, x.loan, x.out = c, line{}, budget.Loan{From: x.bytes}, x.out[:0]
}

// answer puts the answer to the request whose head is complete or at fault into out. False: the
// connection ends; if not, the answer is sent.
func (x *exchange) answer() bool {
	c := x.c
	c.requests++
	if c.left = c.head.Length; c.fault != nil {
		c.left = 0
	}
	x.status, x.kind = http.StatusOK, typeJSON
	x.fields, x.body = x.fields[:0], x.body[:0]
	x.whole, x.bodiless = false, false
	x.last = c.isLast() || c.left != 0 // until all is read: the rest would be the next request
	defer x.forget()
	x.decideSafely()
	// Looked at after the decision, so a stop which began meanwhile is told.
	x.last = x.last || c.Stopping()
	x.appendHead()
	c.complete, c.fault = false, nil
	if !x.appendBody() {
		return false
	}
	if x.last {
		x.send()
	}
	return !x.last
}

// isLast reports whether the client wants the connection to end with the answer.
func (c *conn) isLast() bool {
	return c.head.Is(head.Close) || !c.head.Is(head.HTTP11) && !c.head.Is(head.KeepAlive)
}

// decideSafely finds the answer. A panicking request is answered 500, and ends the connection.
func (x *exchange) decideSafely() {
	defer func() {
		if fault := recover(); fault != nil {
			x.panics.Note(fault)
			x.fields = x.fields[:0]
			x.refuse(api.NewProblem(http.StatusInternalServerError, "request",
				"met a fault of the daemon, which its log shows"))
			x.last = true
		}
	}()
	if p := x.decide(); p != nil {
		x.noteRefused(p)
		x.refuse(p)
	}
}

// decide finds the answer, or the problem with the request.
func (x *exchange) decide() *api.Problem {
	c := x.c
	switch {
	case c.fault != nil:
		x.last, c.long = true, c.fault.Status == http.StatusRequestURITooLong ||
			c.fault.Status == http.StatusRequestHeaderFieldsTooLarge
		return c.fault
	case c.head.IsWhole():
		return x.answerAuth()
	case !x.line.read(c.head.RequestLine(), c.head.Host(), c.head.Is(head.HTTP11)):
		x.last = true
		return notHTTP1()
	}
	x.bodiless = string(x.line.method) == http.MethodHead
	switch {
	case !bytes.HasPrefix(x.line.version, []byte("HTTP/1.")):
		x.last = true
		return notHTTP1()
	case c.head.Is(head.Page) && changes(x.line.path):
		// a page of another site had a browser send the request
		return api.NewProblem(http.StatusForbidden, "sec-fetch-site",
			"says that a page of another site asks")
	case x.room != nil && isWholePath(x.line.path):
		return x.answerWhole()
	case x.room != nil && isActPath(x.line.path):
		return x.answerAct()
	}
	return x.answerCheck()
}

// field adds a header field. The value is the configuration's own words or numbers, without a
// client's byte.
func (x *exchange) field(name, value string) {
	x.fields = append(append(append(append(x.fields, "\r\n"...), name...), ": "...), value...)
}

// send writes the answers so far, and reports success.
func (x *exchange) send() (ok bool) {
	if len(x.out) == 0 {
		return true
	}
	x.out, ok = x.c.Send(x.out, x.limits.write)
	return ok
}

// sendMany sends where the answers are many.
func (x *exchange) sendMany() bool { return len(x.out) < stream.Answers || x.send() }

// appendBody puts the body behind the head; a too large body is sent. Reports success.
func (x *exchange) appendBody() bool {
	switch {
	case x.bodiless:
		return true
	case len(x.body) <= maxHTTPSmall:
		x.out = append(x.out, x.body...)
		return true
	}
	return x.send() && x.c.WriteWithin(x.body, x.limits.write) == nil
}

// appendHead puts the head of the answer into out. Answers to whole requests have their length
// first and say HTTP/1.0 to a client of HTTP/1.0. 204 has no body, and says nothing about a body.
func (x *exchange) appendHead() {
	version := "HTTP/1.1 "
	if x.whole && !x.c.head.Is(head.HTTP11) {
		version = "HTTP/1.0 "
	}
	b := strconv.AppendInt(append(x.out, version...), int64(x.status), 10)
	b = append(append(append(b, ' '), statusText(x.status)...), "\r\nDate: "...)
	// RFC 9110, 6.6.1: a server with a clock sends Date.
	b = x.date.append(b, time.Now())
	switch {
	case x.whole:
		b = x.appendLength(b)
		if len(x.body) > 0 {
			b = x.appendKind(b)
		}
		b = append(x.appendFate(b), x.fields...)
	case x.status == http.StatusNoContent:
		b = x.appendFate(append(b, x.fields...))
	default:
		b = x.appendLength(x.appendKind(b))
		b = x.appendFate(append(b, x.fields...))
	}
	x.out = append(b, "\r\n\r\n"...)
}

// appendLength appends the length of the body, which an answer to HEAD has as well: RFC 9110,
// 9.3.2.
func (x *exchange) appendLength(b []byte) []byte {
	return strconv.AppendInt(append(b, "\r\nContent-Length: "...), int64(len(x.body)), 10)
}

// appendKind appends the type of the body.
func (x *exchange) appendKind(b []byte) []byte {
	return append(append(b, "\r\nContent-Type: "...), x.kind...)
}

// appendFate appends whether the connection stays, unless clear by the version.
func (x *exchange) appendFate(b []byte) []byte {
	switch {
	case x.last:
		return append(b, "\r\nConnection: close"...)
	case !x.c.head.Is(head.HTTP11):
		return append(b, "\r\nConnection: keep-alive"...)
	}
	return b
}

// statusText returns the words for a status, which a policy may have made up.
func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "Unknown Status Code"
}

// forget drops the pointers into the body of the request, and memory above maxHTTPSmall.
func (x *exchange) forget() {
	const checks = 128
	if clear(x.checks); cap(x.checks) > checks {
		x.checks = nil
	}
	if cap(x.received) > maxHTTPSmall {
		x.received = nil
	}
	if cap(x.body) > maxHTTPSmall {
		x.body = nil
	}
	x.loan.Return()
}

// clock notes the duration since began for a request in LatencyEvery.
func (x *exchange) clock(began window.Instant) {
	if (x.c.ID+x.c.requests)%door.LatencyEvery == 0 {
		x.latency.Note(x.decider.Now().Sub(began))
	}
}

// dateLine is the value of the Date header, formatted once a second. The zero value is ready. Safe
// for concurrent use, without a lock.
type dateLine struct{ last atomic.Pointer[datedSecond] }

// datedSecond is the text of a second.
type datedSecond struct {
	unix int64
	text []byte
}

// append appends the date at now.
func (d *dateLine) append(b []byte, now time.Time) []byte {
	last, unix := d.last.Load(), now.Unix()
	if last == nil || last.unix != unix {
		last = &datedSecond{unix, now.UTC().AppendFormat(nil, http.TimeFormat)}
		d.last.Store(last)
	}
	return append(b, last.text...)
}
