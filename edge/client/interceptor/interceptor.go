package interceptor

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Option configures an interceptor.
type Option func(*limit)

// WithRule has each call checked under the rule called name, by its key, instead of by the
// policies.
func WithRule(name string) Option { return func(l *limit) { l.rule = name } }

// WithKey sets the key that a call is counted by under a rule, by default the client's address, of
// IPv6 its /64. Calls for which key returns "" share one count.
func WithKey(key func(ctx context.Context, method string) string) Option {
	return func(l *limit) { l.key = key }
}

// WithHeaders sets the metadata that policies look at, by default client.SentHeaders.
func WithHeaders(names ...string) Option { return func(l *limit) { l.headers = slices.Clone(names) } }

// WithTrustedProxies sets the networks of the proxies before this server. Their x-forwarded-for is
// trusted. By default there are none.
func WithTrustedProxies(networks ...netip.Prefix) Option {
	return func(l *limit) { l.trusted = slices.Clone(networks) }
}

// WithoutWait has calls that a delay allows for later denied. By default they wait, and then pass.
func WithoutWait() Option { return func(l *limit) { l.hurried = true } }

// WithErrorFunc sets a function that is called with the error of each call about which there was no
// verdict. It runs before the handler: have it log or count, not wait.
func WithErrorFunc(report func(ctx context.Context, method string, err error)) Option {
	return func(l *limit) { l.failed = report }
}

// limit is what both interceptors do. It does not change once it is made.
type limit struct {
	limiter client.Limiter
	rule    string // empty: the policies decide
	key     func(ctx context.Context, method string) string
	headers []string
	trusted []netip.Prefix
	hurried bool // calls do not wait
	failed  func(ctx context.Context, method string, err error)
}

func newLimit(l client.Limiter, options []Option) *limit {
	is := &limit{
		limiter: l, headers: client.SentHeaders,
		failed: func(context.Context, string, error) {},
	}
	is.key = func(ctx context.Context, _ string) string {
		return client.AddressKey(clientOf(ctx, is.trusted))
	}
	for _, set := range options {
		set(is)
	}
	return is
}

// Unary returns an interceptor of unary calls that asks l about each.
func Unary(l client.Limiter, options ...Option) grpc.UnaryServerInterceptor {
	is := newLimit(l, options)
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		a, err := is.admit(ctx, info.FullMethod, contextHeaders{ctx})
		if err != nil {
			return nil, err
		}
		c := is.begin(ctx, info.FullMethod, a.Ticket)
		defer c.end()
		if err := c.wait(a.Delay); err != nil {
			return nil, err
		}
		var reply any
		reply, c.err = next(ctx, request)
		c.returned = true
		return reply, c.err
	}
}

// Stream returns an interceptor of streams that asks l about each, once, when it begins. What it
// holds is given back when it ends.
func Stream(l client.Limiter, options ...Option) grpc.StreamServerInterceptor {
	is := newLimit(l, options)
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx := stream.Context()
		a, err := is.admit(ctx, info.FullMethod, streamHeaders{stream})
		if err != nil {
			return err
		}
		c := is.begin(ctx, info.FullMethod, a.Ticket)
		defer c.end()
		if err := c.wait(a.Delay); err != nil {
			return err
		}
		c.err = next(server, stream)
		c.returned = true
		return c.err
	}
}

// headers takes the metadata of a response.
type headers interface {
	set(header, trailer metadata.MD)
}

type (
	contextHeaders struct{ context.Context }
	streamHeaders  struct{ grpc.ServerStream }
)

// set has the metadata sent; it fails only where the headers were sent already, which nothing
// before the handler does.
func (c contextHeaders) set(header, trailer metadata.MD) {
	_ = grpc.SetHeader(c, header)
	_ = grpc.SetTrailer(c, trailer)
}

func (s streamHeaders) set(header, trailer metadata.MD) {
	_ = s.SetHeader(header)
	s.SetTrailer(trailer)
}

// admit asks about a call. The error ends it. A caller that leaves at once ends its context; the
// question goes on, or such calls would pass uncounted.
func (l *limit) admit(ctx context.Context, method string, to headers) (client.Answer, error) {
	asking := context.WithoutCancel(ctx)
	var a client.Answer
	var err error
	if l.rule != "" {
		var answers []client.Answer // Check has no word for a wait
		answers, err = l.limiter.Batch(asking,
			[]client.Query{{
				Op: wire.Check, Rule: l.rule, Key: l.key(ctx, method),
				CanWait: !l.hurried,
			}})
		if a = answers[0]; a.Err == nil && !a.Shadow { // callers read nothing of a shadow
			a.Rule = l.rule
		}
	} else {
		a, err = l.limiter.Ask(asking, l.requestOf(ctx, method))
	}
	if err != nil {
		l.failed(ctx, method, err)
	}
	to.set(metadataOf(&a))
	if !a.Allowed() {
		return a, denial(&a)
	}
	return a, nil
}

// call is one call that was admitted.
type call struct {
	*limit
	ctx            context.Context //nolint:containedctx // for as long as the call
	method, ticket string
	began          time.Time
	returned       bool // the handler did, and did not panic
	err            error
}

func (l *limit) begin(ctx context.Context, method, ticket string) *call {
	return &call{limit: l, ctx: ctx, method: method, ticket: ticket, began: time.Now()}
}

// wait returns once delay is over. The error ends the call of who left before that, or whose
// deadline passed: leaving is no way past the wait.
func (c *call) wait(delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	later := time.NewTimer(delay)
	defer later.Stop()
	select {
	case <-later.C:
		c.began = time.Now()
		return nil
	case <-c.ctx.Done():
		c.returned, c.err = true, status.FromContextError(c.ctx.Err()).Err()
		return c.err
	}
}

// end reports the response, where that is due.
func (c *call) end() {
	if c.ticket == "" {
		return
	}
	code := codes.Internal // of a panic
	if c.returned {
		code = codeOf(c.err)
	}
	is := client.Response{
		Status: Status(code), Took: time.Since(c.began),
		Headers: http.Header{"Grpc-Status": {strconv.Itoa(int(code))}},
	}
	if err := c.limiter.Report(context.WithoutCancel(c.ctx), c.ticket, is); err != nil {
		c.failed(c.ctx, c.method, err)
	}
}
