package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// HandlerOption configures [NewHandler].
type HandlerOption func(*handler)

// WithRule has each request checked under the rule called name, by key and cost, instead of by the
// policies. Panics if name is impossible for a rule.
func WithRule(name string) HandlerOption {
	if !wire.ValidRule(name) {
		panic(fmt.Sprintf("headgate: %q cannot be the name of a rule", name))
	}
	return func(h *handler) { h.rule = name }
}

// WithHeaders sets the headers of a request policies look at, by default [SentHeaders].
func WithHeaders(names ...string) HandlerOption {
	return func(h *handler) { h.headers = slices.Clone(names) }
}

// WithResponseHeaders sets the headers of a response policies look at, such as its cost: reported
// with the status. By default there are none.
func WithResponseHeaders(names ...string) HandlerOption {
	return func(h *handler) { h.reported = slices.Clone(names) }
}

// WithKey sets the key a request is counted by under a rule, by default the [AddressKey] of the
// [ClientAddress]. Requests for which key returns "" share a count, of [NoKey].
func WithKey(key func(*http.Request) string) HandlerOption {
	return func(h *handler) { h.key = key }
}

// WithCost sets the cost of a request under a rule, by default 1; see [Query].
func WithCost(cost func(*http.Request) uint32) HandlerOption {
	return func(h *handler) { h.cost = cost }
}

// WithTrustedProxies sets the networks of the proxies and load balancers before this server. Their
// X-Forwarded-For is trusted; see [ClientAddress]. By default there are none.
func WithTrustedProxies(networks ...netip.Prefix) HandlerOption {
	return func(h *handler) { h.trusted = slices.Clone(networks) }
}

// WithPolicy adds the header RateLimit-Policy, and limit and window to the body of denials. Both
// must be the rule's: the daemon's answers over datagrams carry neither.
func WithPolicy(limit int64, window time.Duration) HandlerOption {
	return func(h *handler) { h.limit, h.window = limit, window }
}

// WithoutWait has requests a delay allows for later denied. By default such requests wait, and then
// pass.
func WithoutWait() HandlerOption {
	return func(h *handler) { h.hurried = true }
}

// WithDeceive sets the handler of the requests a policy denies with on_deny: {deceive: true}, as if
// all were well. By default such requests are denied. The rule of [WithRule] pretends nothing.
func WithDeceive(answer http.Handler) HandlerOption {
	return func(h *handler) { h.pretence = answer }
}

// WithErrorFunc sets a function called with the error of each query the daemon did not answer; see
// [Client.Check]. Called before the request is served: for a log or a count, not for waits.
func WithErrorFunc(report func(*http.Request, error)) HandlerOption {
	return func(h *handler) { h.report = report }
}

// handler is the middleware. A Handler does not change after Handler returned it.
type handler struct {
	limiter  Limiter
	rule     string // empty: the policies decide
	headers  []string
	reported []string // headers of responses
	next     http.Handler
	key      func(*http.Request) string
	cost     func(*http.Request) uint32
	report   func(*http.Request, error)
	trusted  []netip.Prefix
	limit    int64         // 0: not known
	window   time.Duration // likewise
	policy   string        // the value of RateLimit-Policy; empty: not known
	hurried  bool          // requests do not wait
	pretence http.Handler  // answers as if all were well; nil: nothing does
}

// Handler is [NewHandler] with c.
func (c *Client) Handler(next http.Handler, options ...HandlerOption) http.Handler {
	return NewHandler(c, next, options...)
}

// NewHandler returns a handler asking l about each request before next: the policies of the daemon,
// or with [WithRule] a rule, which counts by the client's address unless [WithKey] says otherwise.
//
// A request passing has the header RateLimit, with [WithPolicy] RateLimit-Policy, of
// draft-ietf-httpapi-ratelimit-headers-10; handlers within each other add a value each. A denied
// request is answered with status 429, or a policy's status, these headers, Retry-After and a body
// of type application/problem+json. A request a delay allows for later waits for as long, a minute
// at most, unless [WithoutWait] says otherwise; the WriteTimeout of the server includes the wait.
// Where a policy counts by the response, the status and the time of next are reported when next
// returns. Where the daemon does not answer, the client's [FailMode] decides: FailOpen calls next
// without the headers, FailClosed answers with status 503.
func NewHandler(l Limiter, next http.Handler, options ...HandlerOption) http.Handler {
	h := &handler{
		limiter: l, next: next,
		cost:   func(*http.Request) uint32 { return 1 },
		report: func(*http.Request, error) {},
	}
	h.key = func(r *http.Request) string { return AddressKey(ClientAddress(r, h.trusted)) }
	for _, set := range options {
		set(h)
	}
	h.policy = policyOf(h.rule, h.limit, h.window)
	return h
}

// ServeHTTP asks about r, and answers or passes r on. A client that hangs up at once ends the
// request's context; the query goes on, or under FailOpen such requests would pass uncounted.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := context.WithoutCancel(r.Context())
	answer, err := h.ask(ctx, r)
	if err != nil {
		h.report(r, err)
	} else {
		h.announce(w.Header(), answer)
	}
	switch {
	case !answer.Allowed():
		h.deny(w, answer)
	case !inTime(r.Context(), answer.Delay):
		h.leave(ctx, w, r, answer.Ticket)
	case answer.Ticket == "":
		h.answering(&answer).ServeHTTP(w, r)
	default:
		h.serveReported(ctx, w, r, &answer)
	}
}

// ask asks the policies, or the rule.
func (h *handler) ask(ctx context.Context, r *http.Request) (Answer, error) {
	if h.rule != "" {
		// Check has no word for a wait.
		answers, err := h.limiter.Batch(ctx,
			[]Query{{
				Op: wire.Check, Rule: h.rule, Key: h.key(r), Cost: h.cost(r),
				CanWait: !h.hurried,
			}})
		answer := answers[0]
		answer.Rule, answer.HTTP = h.rule, http.StatusTooManyRequests
		return answer, err
	}
	q := RequestOf(r, h.headers...)
	q.Client, q.CanWait, q.CanDeceive = ClientAddress(r, h.trusted), !h.hurried, h.pretence != nil
	return h.limiter.Ask(ctx, q)
}

// answering returns the handler of an allowed request.
func (h *handler) answering(a *Answer) http.Handler {
	if a.Deceive && h.pretence != nil {
		return h.pretence
	}
	return h.next
}

// inTime returns once delay is over, or ctx is. Reports whether delay is over.
func inTime(ctx context.Context, delay time.Duration) bool {
	if delay <= 0 {
		return true
	}
	later := time.NewTimer(delay)
	defer later.Stop()
	select {
	case <-later.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// statusGone is the status of a response to a client gone before, as in nginx's logs.
const statusGone = 499

// leave ends a request waiting at the end of the context: hanging up is no way past the wait.
func (h *handler) leave(
	ctx context.Context, w http.ResponseWriter, r *http.Request, ticket string,
) {
	status := statusGone
	if errors.Is(r.Context().Err(), context.DeadlineExceeded) { // the visitor is still there
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	if ticket != "" {
		h.tell(ctx, r, ticket, Response{Status: status})
	}
}

// serveReported has the request answered and reports the response; a panic is a failure of the
// server.
func (h *handler) serveReported(
	ctx context.Context, w http.ResponseWriter, r *http.Request, a *Answer,
) {
	seen, began := &recorder{ResponseWriter: w}, time.Now()
	returned := false
	defer func() {
		status := seen.status
		switch {
		case !returned && status == 0:
			status = http.StatusInternalServerError
		case status == 0:
			status = http.StatusOK
		}
		h.tell(ctx, r, a.Ticket, Response{
			Status: status, Took: time.Since(began),
			Headers: pick(w.Header(), h.reported),
		})
	}()
	h.answering(a).ServeHTTP(seen, r)
	returned = true
}

// tell reports a response.
func (h *handler) tell(ctx context.Context, r *http.Request, ticket string, is Response) {
	if err := h.limiter.Report(ctx, ticket, is); err != nil {
		h.report(r, err)
	}
}

// pick returns those of named headers.
func pick(headers http.Header, names []string) http.Header {
	if len(names) == 0 {
		return nil
	}
	some := http.Header{}
	for _, name := range names {
		name = http.CanonicalHeaderKey(name)
		if values := headers[name]; len(values) > 0 {
			some[name] = values
		}
	}
	return some
}

// recorder notes the status of a response.
type recorder struct {
	http.ResponseWriter
	status int // 0: none yet
}

// WriteHeader notes a final status and passes the status on.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write is a final status of 200 unless there was a status.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Flush sends the bytes written so far, where possible.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
