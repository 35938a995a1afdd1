package caddy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

// The defaults, and the bound of the time that a request may wait.
const (
	DefaultAddress = "127.0.0.1:4290"
	MaxTimeout     = 5 * time.Second
)

func init() { caddy.RegisterModule(new(Handler)) } // as Caddy finds its modules

// Handler asks a headgate daemon about each request before the site answers it.
type Handler struct {
	// Address of the daemon's datagrams: host:port, or unix:/path. Default: 127.0.0.1:4290.
	Address string `json:"address,omitempty"`
	// Timeout is how long a request waits for the daemon, above 0 and up to 5 s. Default: 20ms.
	Timeout caddy.Duration `json:"timeout,omitempty"`
	// FailClosed denies requests about which the daemon gives no verdict, with status 503. By
	// default they pass.
	FailClosed bool `json:"fail_closed,omitempty"`
	// Rule is the name of the one rule to check. Default: the policies decide.
	Rule string `json:"rule,omitempty"`
	// Key is what requests are counted by under Rule; it may have placeholders. Default: the
	// client's address, of IPv6 its /64.
	Key string `json:"key,omitempty"`
	// Headers of the request that policies look at. Default: X-Api-Key, Authorization, User-Agent,
	// Cookie, Origin, Referer, Content-Type.
	Headers []string `json:"headers,omitempty"`
	// ResponseHeaders are headers of the response that policies look at. Content-Length is the size
	// of the body that was sent, and always there.
	ResponseHeaders []string `json:"response_headers,omitempty"`
	// Country and Tier of the request, with placeholders, for policies that look at them.
	Country string `json:"country,omitempty"`
	Tier    string `json:"tier,omitempty"`
	// NoWait has requests that a delay allows for later denied. By default they wait, and then
	// pass.
	NoWait bool `json:"no_wait,omitempty"`
	// Deceive is the response to requests that a policy denies with on_deny: {deceive: true}; the
	// site does not see them. By default they are denied.
	Deceive *caddyhttp.StaticResponse `json:"deceive,omitempty"`

	client  *client.Client
	pooled  string // the client's key in the pool; empty: none was taken
	logger  *zap.Logger
	verdict atomic.Bool // false while the daemon gives none: see noteFailure
}

// CaddyModule says what Caddy calls the module.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.headgate", New: func() caddy.Module { return new(Handler) }}
}

// Provision sets the defaults and takes a client. The daemon need not be up.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	h.verdict.Store(true)
	if h.Address == "" {
		h.Address = DefaultAddress
	}
	if h.Timeout == 0 {
		h.Timeout = caddy.Duration(client.DefaultTimeout)
	}
	if len(h.Headers) == 0 {
		h.Headers = client.SentHeaders
	}
	if err := h.check(); err != nil {
		return err
	}
	return h.takeClient()
}

// check says which setting is wrong.
func (h *Handler) check() error {
	switch {
	case h.Timeout < 0 || time.Duration(h.Timeout) > MaxTimeout:
		return fmt.Errorf("headgate: the timeout is above 0 and at most %v, not %v", MaxTimeout, time.Duration(h.Timeout))
	case h.Rule != "" && !wire.ValidRule(h.Rule):
		return fmt.Errorf("headgate: %q cannot be the name of a rule", h.Rule)
	case h.Rule == "" && h.Key != "":
		return errors.New("headgate: a key is for one rule: name it, or leave the key to the policies")
	// A rule knows no pretence: its answers would never ask for one.
	case h.Rule != "" && h.Deceive != nil:
		return errors.New("headgate: only policies deceive, not one rule")
	}
	return nil
}

// Cleanup gives the client back.
func (h *Handler) Cleanup() error { return h.dropClient() }

// ServeHTTP asks about r, and denies it or passes it on. A visitor that hangs up at once ends the
// request's context; the question goes on, or such requests would pass uncounted.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	// First of all: the site believes these headers, so a visitor's must be gone even where no
	// verdict comes.
	removeOwn(r.Header)
	ctx := context.WithoutCancel(r.Context())
	a, err := h.ask(ctx, r)
	h.noteFailure(err)
	setPlaceholders(r, &a, err)
	// answers about a named rule have numbers in shadow too, and visitors read none
	if value := a.RateLimit(); value != "" && (h.Rule == "" || !a.Shadow) {
		w.Header().Add("RateLimit", value)
	}
	next = h.admitted(next, &a)
	switch {
	case !a.Allowed():
		return deny(w, &a)
	case a.Ticket == "":
		return next.ServeHTTP(w, r)
	}
	return h.serveReported(ctx, w, r, next, a.Ticket)
}

// statusGone is what logs show of a visitor who hung up before the response.
const statusGone = 499

// admitted returns what becomes of a request that is allowed: next, or a wait before it, or a
// pretence in its place.
func (h *Handler) admitted(next caddyhttp.Handler, a *client.Answer) caddyhttp.Handler {
	switch {
	case a.Deceive && h.Deceive != nil:
		return caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return h.Deceive.ServeHTTP(w, r, nil) })
	case a.Delay > 0:
		return caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			later := time.NewTimer(a.Delay)
			defer later.Stop()
			select {
			case <-later.C:
				return next.ServeHTTP(w, r)
			case <-r.Context().Done(): // hanging up is no way past the wait
				return caddyhttp.Error(statusGone, context.Cause(r.Context()))
			}
		})
	}
	return next
}

// removeOwn removes the headers that only headgate sets, as a visitor may have sent them.
func removeOwn(header http.Header) {
	for name := range header {
		if strings.HasPrefix(name, "Headgate-") {
			delete(header, name)
		}
	}
}

// ask asks the policies, or the rule.
func (h *Handler) ask(ctx context.Context, r *http.Request) (client.Answer, error) {
	if h.Rule != "" {
		answers, err := h.client.Batch(ctx, []client.Query{{Op: wire.Check, Rule: h.Rule, Key: h.keyOf(r), CanWait: !h.NoWait}})
		a := answers[0]
		if a.HTTP = http.StatusTooManyRequests; a.Err == nil {
			a.Rule = h.Rule
		}
		return a, err
	}
	was := r
	// before rewrites
	if first, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		was = &http.Request{Method: first.Method, URL: first.URL, Host: r.Host, Header: r.Header, TLS: r.TLS, RemoteAddr: r.RemoteAddr}
	}
	q := client.RequestOf(was, h.Headers...)
	q.Client, q.CanWait, q.CanDeceive = clientOf(r), !h.NoWait, h.Deceive != nil
	if r.TLS != nil {
		q.TLS = versionsTLS[r.TLS.Version]
	}
	if h.Country != "" || h.Tier != "" {
		fill := replacerOf(r)
		q.Country, q.Tier = fill.ReplaceAll(h.Country, ""), fill.ReplaceAll(h.Tier, "")
	}
	return h.client.Ask(ctx, q)
}

// keyOf returns the key of r under a rule.
func (h *Handler) keyOf(r *http.Request) string {
	if h.Key == "" {
		return client.AddressKey(clientOf(r))
	}
	return replacerOf(r).ReplaceAll(h.Key, "")
}

// clientOf returns the address of the client as Caddy knows it, by its trusted_proxies.
func clientOf(r *http.Request) netip.Addr {
	if text, ok := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string); ok {
		if a, err := netip.ParseAddr(text); err == nil {
			return a.Unmap().WithZone("")
		}
	}
	return client.ClientAddress(r, nil)
}

func replacerOf(r *http.Request) *caddy.Replacer {
	return r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer) //nolint:forcetypeassert // Caddy's servers set it
}

// deny ends a request with an error, which the site's handle_errors may give a body.
func deny(w http.ResponseWriter, a *client.Answer) error {
	if a.Retry > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64(a.Retry/time.Second), 10))
	}
	w.Header().Set("Cache-Control", "no-store")
	if a.Err != nil {
		return caddyhttp.Error(http.StatusServiceUnavailable, a.Err)
	}
	reason := a.Ground
	if reason == "" {
		reason = a.Why.String()
	}
	return caddyhttp.Error(a.HTTP, fmt.Errorf("headgate denies: %s", reason))
}

// serveReported passes r on and reports its response, whatever becomes of it.
func (h *Handler) serveReported(
	ctx context.Context, w http.ResponseWriter, r *http.Request, next caddyhttp.Handler,
	ticket string,
) (err error) {
	seen := caddyhttp.NewResponseRecorder(w, nil, nil)
	began, status := time.Now(), http.StatusInternalServerError // of a panic
	defer func() {
		is := client.Response{Status: status, Took: time.Since(began), Headers: h.responseHeaders(seen)}
		if failed := h.client.Report(ctx, ticket, is); failed != nil {
			h.noteFailure(failed)
		}
	}()
	err = next.ServeHTTP(seen, r)
	status = statusOf(seen.Status(), err)
	return err
}

// statusOf returns the status of a response: the one that was sent, or that of the error that will
// be.
func statusOf(sent int, err error) int {
	var failed caddyhttp.HandlerError
	switch {
	case sent >= http.StatusOK, sent == http.StatusSwitchingProtocols:
		return sent
	case err == nil:
		return http.StatusOK
	case errors.As(err, &failed) && failed.StatusCode != 0:
		return failed.StatusCode
	}
	return http.StatusInternalServerError
}

// responseHeaders returns the headers of a response that are reported.
func (h *Handler) responseHeaders(seen caddyhttp.ResponseRecorder) http.Header {
	some := http.Header{}
	for _, name := range h.ResponseHeaders {
		name = http.CanonicalHeaderKey(name)
		if values := seen.Header()[name]; len(values) > 0 {
			some[name] = values
		}
	}
	some.Set("Content-Length", strconv.Itoa(seen.Size()))
	return some
}

// setPlaceholders sets {http.headgate.verdict}, and .rule, .why and .remaining where they are
// known, for logs and for handlers behind this one.
func setPlaceholders(r *http.Request, a *client.Answer, err error) {
	fill := replacerOf(r)
	if err != nil {
		fill.Set("http.headgate.verdict", "none")
		return
	}
	fill.Set("http.headgate.verdict", a.Status.String())
	if a.Deceive {
		fill.Set("http.headgate.verdict", "deceive")
	}
	fill.Set("http.headgate.rule", a.Rule)
	fill.Set("http.headgate.remaining", a.Remaining)
	why := a.Ground
	if a.Ground == "" && !a.Allowed() {
		why = a.Why.String()
	}
	fill.Set("http.headgate.why", why)
}

// noteFailure logs the first question without a verdict, and the first with one after that: not
// each, for there may be thousands a second.
func (h *Handler) noteFailure(err error) {
	if had := h.verdict.Load(); had == (err == nil) || !h.verdict.CompareAndSwap(had, err == nil) {
		return
	}
	if err != nil {
		h.logger.Error("the daemon gives no verdict", zap.Bool("requests_pass", !h.FailClosed), zap.Error(err))
		return
	}
	h.logger.Info("the daemon gives verdicts again")
}
