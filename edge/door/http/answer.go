package http

import (
	"strconv"

	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/valyala/fasthttp"
)

// The response headers, spelled as they are sent.
var (
	// The response headers in the spelling that is sent.
	headerPolicy  = []byte("RateLimit-Policy")
	headerLimit   = []byte("RateLimit")
	headerRetry   = []byte("Retry-After")
	headerVerdict = []byte("Headgate-Verdict")
	headerView    = []byte("Headgate-View")
	headerWhy     = []byte("Headgate-Why")
	headerShadow  = []byte("Headgate-Shadow")
	headerDelay   = []byte("Headgate-Delay")

	typeJSON    = []byte("application/json")
	typeProblem = []byte("application/problem+json")
	typeText    = []byte("text/plain; charset=utf-8")
)

// The words of answers, each as the header and the JSON have it.
var (
	// Words of the protocol, spelled the same in headers and JSON.
	wordAllow = []byte("allow")
	wordDeny  = []byte("deny")
)

// resultSize is the usual size of one result of a batch, in bytes, rounded up.
const resultSize = 160

// scratch is the memory of one request under way. It is pooled; bodies and lists above a bound are
// dropped before it returns to the pool.
// Pooled rather than the connection's: ten thousand connections that wait must not hold a buffer
// each.
type scratch struct {
	out    []byte
	body   []byte
	checks []gate.Ask
}

// forget clears s of a finished batch: its checks point into the body. A body above maxHTTPSmall
// and room for more than 128 checks are released.
func (s *scratch) forget() {
	const checks = 128
	if cap(s.body) > maxHTTPSmall {
		s.body = nil
	}
	if clear(s.checks); cap(s.checks) > checks {
		s.checks = nil
	}
}

// writeDecision writes the whole response to one check: status 200, or denyStatus for a refusal.
// The library keeps headers that it knows at fixed places and others in the order they are set; the
// quick path writes the same order.
func writeDecision(
	ctx *fasthttp.RequestCtx, s *scratch, text *verdict.Text, a verdict.Verdict, denyStatus int,
) {
	header := &ctx.Response.Header
	header.SetCanonical(headerPolicy, text.Policy)
	s.out = verdict.AppendRateLimit(s.out[:0], text, a)
	header.SetCanonical(headerLimit, s.out)
	header.SetCanonical(headerView, verdict.Views[a.View])
	if a.Deny {
		writeDeny(ctx, s, text, a, denyStatus)
		return
	}
	header.SetCanonical(headerVerdict, wordAllow)
	if a.Delay > 0 {
		header.SetCanonical(headerDelay, strconv.AppendUint(nil, uint64(a.Delay), 10))
	}
	if a.Shadow {
		header.SetCanonical(headerShadow, wordDeny)
	}
	header.SetContentTypeBytes(typeJSON)
	s.out = verdict.AppendBody(s.out[:0], text, a, fasthttp.StatusOK)
	ctx.Response.SetBody(s.out)
}

// writeDeny writes the headers and the body that only a refusal has.
func writeDeny(
	ctx *fasthttp.RequestCtx, s *scratch, text *verdict.Text, a verdict.Verdict, status int,
) {
	header := &ctx.Response.Header
	header.SetCanonical(headerVerdict, wordDeny)
	header.SetCanonical(headerWhy, verdict.Whys[a.Why])
	s.out = strconv.AppendUint(s.out[:0], uint64(a.Retry), 10)
	header.SetCanonical(headerRetry, s.out)
	header.SetContentTypeBytes(typeProblem)
	ctx.SetStatusCode(status)

	s.out = verdict.AppendBody(s.out[:0], text, a, status)
	ctx.Response.SetBody(s.out)
}
