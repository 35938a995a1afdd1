package client

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// HandlerOption configures [Handler].
type HandlerOption func(*handler)

// WithKey sets the key that a request is counted by, by default the [AddressKey] of its
// [ClientAddress]. Requests for which key returns "" share one count, that of [NoKey].
func WithKey(key func(*http.Request) string) HandlerOption {
	return func(h *handler) { h.key = key }
}

// WithCost sets the cost of a request, by default 1; see [Query].
func WithCost(cost func(*http.Request) uint32) HandlerOption {
	return func(h *handler) { h.cost = cost }
}

// WithTrustedProxies sets the networks of the proxies and load balancers before this server. Their
// X-Forwarded-For is trusted; see [ClientAddress]. By default there are none.
func WithTrustedProxies(networks ...netip.Prefix) HandlerOption {
	return func(h *handler) { h.trusted = slices.Clone(networks) }
}

// WithPolicy adds the header RateLimit-Policy, and limit and window to the body of denials. They
// must be those of the rule: the daemon's answers over datagrams do not carry them.
func WithPolicy(limit int64, window time.Duration) HandlerOption {
	return func(h *handler) { h.limit, h.window = limit, window }
}

// WithErrorFunc sets a function that is called with the error of each query that the daemon did not
// answer; see [Client.Check]. It runs before the request is served: have it log or count, not wait.
func WithErrorFunc(report func(*http.Request, error)) HandlerOption {
	return func(h *handler) { h.report = report }
}

// handler is the middleware. It does not change after Handler returned it.
type handler struct {
	client  *Client
	rule    string
	next    http.Handler
	key     func(*http.Request) string
	cost    func(*http.Request) uint32
	report  func(*http.Request, error)
	trusted []netip.Prefix
	limit   int64         // 0: not known
	window  time.Duration // likewise
	policy  string        // the value of RateLimit-Policy; empty: not known
}

// Handler returns a handler that checks each request under rule before it calls next. By default a
// request is counted by its client's address.
//
// What passes has the header RateLimit, with [WithPolicy] RateLimit-Policy, of
// draft-ietf-httpapi-ratelimit-headers-10; handlers within each other add a value each. What is
// denied is answered with status 429, these headers, Retry-After and a body of type
// application/problem+json. Where the daemon does not answer, the client's [FailMode] decides:
// FailOpen calls next without the headers, FailClosed answers with status 503.
//
// Handler panics if rule cannot be the name of a rule.
func Handler(c *Client, rule string, next http.Handler, options ...HandlerOption) http.Handler {
	if !wire.ValidRule(rule) {
		panic(fmt.Sprintf("headgate: %q cannot be the name of a rule", rule))
	}
	h := &handler{
		client: c, rule: rule, next: next,
		cost:   func(*http.Request) uint32 { return 1 },
		report: func(*http.Request, error) {},
	}
	h.key = func(r *http.Request) string { return AddressKey(ClientAddress(r, h.trusted)) }
	for _, set := range options {
		set(h)
	}
	h.policy = policyOf(rule, h.limit, h.window)
	return h
}

// ServeHTTP checks r, and answers it or passes it on. A client that hangs up at once ends the
// request's context; the query goes on, or under FailOpen such requests would pass uncounted.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := context.WithoutCancel(r.Context())
	answer, err := h.client.Check(ctx, Query{Rule: h.rule, Key: h.key(r), Cost: h.cost(r)})
	if err != nil {
		h.report(r, err)
	} else {
		h.announce(w.Header(), answer)
	}
	if answer.Allowed() {
		h.next.ServeHTTP(w, r)
		return
	}
	h.deny(w, answer)
}
