package edge

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// params is what a query string says. Its slices lie in the query string, which parseParams decodes in place.
type params struct {
	rule, key []byte
	cost      uint32 // 0: not given
	status    int    // 0: not given
	given     givenParam
}

// givenParam is a set of parameters.
type givenParam uint8

const (
	gaveRule givenParam = 1 << iota
	gaveKey
	gaveCost
	gaveStatus
)

// route returns what a request's path and method ask for.
func route(ctx *fasthttp.RequestCtx) (wire.Op, *problem) {
	if !bytes.HasPrefix(ctx.Request.Header.Protocol(), http1) {
		ctx.SetConnectionClose() // what follows is not ours to read
		return 0, notHTTP1()
	}
	if len(ctx.RequestURI()) > maxHTTPLine {
		return 0, &problem{status: fasthttp.StatusRequestURITooLong, parameter: "uri", detail: "exceeds 4096 bytes"}
	}
	var op wire.Op
	switch string(ctx.Path()) {
	case "/v1/check":
		op = wire.Check
	case "/v1/peek":
		op = wire.Peek
	case "/v1/count":
		op = wire.Count
	default:
		return 0, &problem{
			status: fasthttp.StatusNotFound, parameter: "path", detail: "is none of /v1/check, /v1/peek and /v1/count",
		}
	}
	if !ctx.IsGet() && !ctx.IsPost() && !ctx.IsHead() {
		return 0, &problem{status: fasthttp.StatusMethodNotAllowed, parameter: "method", detail: "must be GET, HEAD or POST"}
	}
	if bytes.IndexByte(ctx.RequestURI(), '#') >= 0 {
		// A fragment is never sent; dropping it would quietly cut the key of a client that forgot to encode.
		return 0, badParam("uri", "has a # that is not percent-encoded")
	}
	return op, nil
}

// http1 begins the protocol of every request this door reads.
var http1 = []byte("HTTP/1.")

// hasBody reports whether a request announces one.
func hasBody(ctx *fasthttp.RequestCtx) bool {
	n := ctx.Request.Header.ContentLength()
	return n > 0 || n == chunkedLength
}

// chunkedLength is the library's content length of a chunked body.
const chunkedLength = -1

// parseParams reads a query string, decoding it in place. Names are matched as written, unknown ones are ignored.
func parseParams(query []byte) (p params, bad *problem) {
	for rest := query; len(rest) > 0 && bad == nil; {
		pair := rest
		if i := bytes.IndexByte(rest, '&'); i >= 0 {
			pair, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		name, value := pair, []byte(nil)
		if i := bytes.IndexByte(pair, '='); i >= 0 {
			name, value = pair[:i], pair[i+1:]
		}
		bad = p.set(name, value)
	}
	return p, bad
}

// set takes one parameter.
func (p *params) set(name, value []byte) *problem {
	switch string(name) {
	case "rule":
		return p.setText("rule", gaveRule, &p.rule, value)
	case "key":
		return p.setText("key", gaveKey, &p.key, value)
	case "cost":
		return p.setCost(value)
	case "status":
		return p.setStatus(value)
	}
	return nil
}

// first notes that a parameter was given and reports whether it was for the first time.
func (p *params) first(g givenParam) bool {
	fresh := p.given&g == 0
	p.given |= g
	return fresh
}

func (p *params) setText(name string, g givenParam, to *[]byte, value []byte) *problem {
	if !p.first(g) {
		return givenTwice(name)
	}
	text, ok := unescape(value)
	if !ok {
		return badParam(name, "has a % without two hexadecimal digits after it")
	}
	*to = text
	return nil
}

func (p *params) setCost(value []byte) *problem {
	if !p.first(gaveCost) {
		return givenTwice("cost")
	}
	cost, ok := parseCost(value)
	if !ok {
		return badParam("cost", costRange)
	}
	p.cost = cost
	return nil
}

func (p *params) setStatus(value []byte) *problem {
	if !p.first(gaveStatus) {
		return givenTwice("status")
	}
	switch string(value) {
	case "401":
		p.status = fasthttp.StatusUnauthorized
	case "403":
		p.status = fasthttp.StatusForbidden
	case "429":
		p.status = fasthttp.StatusTooManyRequests
	case "503":
		p.status = fasthttp.StatusServiceUnavailable
	default:
		return badParam("status", "must be 401, 403, 429 or 503")
	}
	return nil
}

// denyStatus returns the status of a refusal.
func (p *params) denyStatus() int {
	if p.status == 0 {
		return fasthttp.StatusTooManyRequests
	}
	return p.status
}

// query returns what the parameters ask for, or what is missing or out of range.
func (p *params) query(op wire.Op) (wire.Query, *problem) {
	q := wire.Query{Op: op, Cost: max(p.cost, 1), Rule: p.rule, Key: p.key}
	return q, checkQuery(q)
}

// besideBody returns the parameter that must not stand beside a body, if one does.
func (p *params) besideBody() *problem {
	for _, t := range [...]struct {
		g    givenParam
		name string
	}{{gaveRule, "rule"}, {gaveKey, "key"}, {gaveCost, "cost"}} {
		if p.given&t.g != 0 {
			return badParam(t.name, "is given by the body")
		}
	}
	return nil
}

// checkQuery returns what is missing or out of range in q.
func checkQuery(q wire.Query) *problem {
	switch {
	case len(q.Rule) == 0:
		return badParam("rule", "is missing")
	case len(q.Key) == 0:
		return badParam("key", "is missing")
	case len(q.Key) > mitigation.MaxKey:
		return badParam("key", "exceeds 256 bytes")
	}
	return nil
}

// parseCost reads a whole number of 1..MaxCost, digits only.
func parseCost(b []byte) (uint32, bool) {
	const maxDigits = 7
	if len(b) == 0 || len(b) > maxDigits {
		return 0, false
	}
	n := uint32(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint32(c-'0')
	}
	return n, n >= 1 && n <= mitigation.MaxCost
}

// unescape decodes percent-encoding, and + as a space, in place. It reports whether every % was a good one.
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
			hi, lo := unhex(b[i+1]), unhex(b[i+2])
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

// unhex returns the value of a hexadecimal digit, or -1.
func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
