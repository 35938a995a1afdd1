package interceptor_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/client/interceptor"
	"github.com/headgate-dev/headgate/edge/config"
)

// patience is for what must happen.
const patience = 20 * time.Second

const policies = `
node: test
memory: 4MiB
listen: {udp: "127.0.0.1:0", http: [], admin: []}
rules: [{name: login, limit: 2, window: 1h}]
policies:
  - {name: refused, match: {header.x-api-key: forbidden}, deny: 403}
  - {name: failures, match: {header.x-api-key: fails}, count_when: {status: 401, response.header.grpc-status: "16"}, limit: 2, window: 1h}
  - {name: panics, match: {header.x-api-key: panics}, count_when: {status: 500}, limit: 2, window: 1h}
  - {name: keys, match: {header.x-api-key: "key-*", path: "/grpc.health.v1.Health/Check"}, key: header.x-api-key, limit: 1, window: 1h}
  - {name: held, match: {header.x-api-key: "held*"}, kind: concurrency, limit: 1, lease: 1h}
  - {name: slow, match: {path: "/grpc.health.v1.Health/Watch"}, kind: concurrency, limit: 1, lease: 1h}
`

// startNode runs a node until stop is called or the test ends.
func startNode(t *testing.T) (node *edge.Node, stop func()) {
	t.Helper()
	cfg, err := config.Parse("test", []byte(policies))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if node, err = edge.New(ctx,
		edge.Options{Config: &cfg, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	t.Cleanup(stop)
	return node, stop
}

// limiters are a client of a daemon, and a node in the program.
func limiters(t *testing.T) map[string]client.Limiter {
	t.Helper()
	daemon, _ := startNode(t)
	c, err := client.Dial(daemon.Addresses().Datagram[0].String(), client.WithTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	node, _ := startNode(t)
	return map[string]client.Limiter{"daemon": c, "node": node}
}

// service is a health service whose answers tests choose.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	check func(ctx context.Context) error
}

func (s *service) Check(
	ctx context.Context, _ *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	return &grpc_health_v1.HealthCheckResponse{}, s.check(ctx)
}

// Watch sends one answer and lasts until the caller leaves.
func (s *service) Watch(
	_ *grpc_health_v1.HealthCheckRequest,
	stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse],
) error {
	if err := stream.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
		return err
	}
	if sent, _ := metadata.FromIncomingContext(stream.Context()); slices.Contains(sent["x-api-key"],
		"held, panics") {
		panic("in the stream")
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// serve runs a server with the interceptors, and returns a client of it. from is the address that
// callers seem to have.
func serve(
	t *testing.T, l client.Limiter, from string, check func(ctx context.Context) error,
	options ...interceptor.Option,
) grpc_health_v1.HealthClient {
	t.Helper()
	callers := func(ctx context.Context) context.Context {
		return peer.NewContext(ctx,
			&peer.Peer{Addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))})
	}
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, q any, _ *grpc.UnaryServerInfo,
			next grpc.UnaryHandler,
		) (_ any, err error) {
			defer func() {
				if recover() != nil {
					err = status.Error(codes.Internal, "panic")
				}
			}()
			return next(callers(ctx), q)
		}, interceptor.Unary(l, options...)),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream,
			_ *grpc.StreamServerInfo, next grpc.StreamHandler,
		) (err error) {
			defer func() {
				if recover() != nil {
					err = status.Error(codes.Internal, "panic")
				}
			}()
			return next(server, stream)
		}, interceptor.Stream(l, options...)),
	)
	grpc_health_v1.RegisterHealthServer(server, &service{check: check})
	at := bufconn.Listen(1 << 16)
	done := make(chan error, 1)
	go func() { done <- server.Serve(at) }()
	conn, err := grpc.NewClient("passthrough:///site.test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error,
		) {
			return at.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return grpc_health_v1.NewHealthClient(conn)
}

// reply is what a caller sees of an answer.
type reply struct {
	code            codes.Code
	header, trailer metadata.MD
	err             error
}

// check calls with metadata, name, value and so on.
func check(t *testing.T, c grpc_health_v1.HealthClient, sent ...string) (r reply) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), sent...)
	_, r.err = c.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Header(&r.header),
		grpc.Trailer(&r.trailer))
	r.code = status.Code(r.err)
	return r
}

// TestLongMetadata: a call whose metadata a daemon cannot be shown is denied.
func TestLongMetadata(t *testing.T) {
	t.Parallel()
	for name, l := range limiters(t) {
		// a node sees all
		want := map[string]codes.Code{"daemon": codes.ResourceExhausted, "node": codes.OK}[name]
		c := serve(t, l, "203.0.113.7:1", fine)
		if r := check(t, c, "x-api-key", strings.Repeat("k", 5000)); r.code != want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func fine(context.Context) error { return nil }

// await calls until the answer has that code: reports are not answered, and may come after the
// response.
func await(t *testing.T, c grpc_health_v1.HealthClient, code codes.Code, sent ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); check(t, c, sent...).code != code; {
		if time.Now().After(deadline) {
			t.Fatalf("never %v", code)
		}
	}
}

// TestUnary: the policies decide, and a denial says when to come again.
func TestUnary(t *testing.T) {
	t.Parallel()
	for name, l := range limiters(t) {
		c := serve(t, l, "203.0.113.7:1", fine)
		if r := check(t, c, "x-api-key", "key-1"); r.code != codes.OK ||
			!strings.HasPrefix(strings.Join(r.header["ratelimit"], ""), `"keys";r=0;t=`) {
			t.Errorf("%s: %+v", name, r)
		}
		r := check(t, c, "x-api-key", "key-1")
		if r.code != codes.ResourceExhausted || len(r.header["retry-after"]) != 1 ||
			len(r.trailer["grpc-retry-pushback-ms"]) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
		var retry *errdetails.RetryInfo
		var quota *errdetails.QuotaFailure
		for _, d := range status.Convert(r.err).Details() {
			switch d := d.(type) {
			case *errdetails.RetryInfo:
				retry = d
			case *errdetails.QuotaFailure:
				quota = d
			}
		}
		if retry.GetRetryDelay().AsDuration() < time.Minute || len(quota.GetViolations()) != 1 ||
			quota.GetViolations()[0].GetSubject() != "keys" {
			t.Errorf("%s: %v %v", name, retry, quota)
		}
		if r := check(t, c, "x-api-key", "key-2"); r.code != codes.OK {
			t.Errorf("%s: another key: %+v", name, r)
		}
		if r := check(t, c, "x-api-key", "forbidden"); r.code != codes.PermissionDenied ||
			len(r.header["retry-after"]) != 0 {
			t.Errorf("%s: a policy's own status: %+v", name, r)
		}
	}
}

// TestReports: what counts by the response counts by its code, that of a panic too.
func TestReports(t *testing.T) {
	t.Parallel()
	for _, l := range limiters(t) {
		var fails atomic.Bool
		c := serve(t, l, "203.0.113.7:1", func(ctx context.Context) error {
			sent, _ := metadata.FromIncomingContext(ctx)
			switch {
			case sent["x-api-key"][0] == "panics":
				panic("in the handler")
			case fails.Load():
				return status.Error(codes.Unauthenticated, "wrong")
			}
			return nil
		})
		for range 3 {
			if r := check(t, c, "x-api-key", "fails"); r.code != codes.OK {
				t.Errorf("%+v", r)
			}
		}
		fails.Store(true)
		await(t, c, codes.ResourceExhausted, "x-api-key", "fails")
		await(t, c, codes.ResourceExhausted, "x-api-key", "panics")
	}
}

// TestStream: a stream holds its place until it ends.
func TestStream(t *testing.T) {
	t.Parallel()
	for name, l := range limiters(t) {
		c := serve(t, l, "203.0.113.7:1", fine)
		watch := func() (code codes.Code, leave func()) {
			ctx, leave := context.WithCancel(t.Context())
			stream, err := c.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return status.Code(err), leave
		}
		first, leave := watch()
		second, alsoLeave := watch()
		alsoLeave()
		if first != codes.OK || second != codes.ResourceExhausted {
			t.Errorf("%s: %v beside %v", name, second, first)
		}
		leave()
		for deadline := time.Now().Add(patience); ; {
			code, leave := watch()
			leave()
			if code == codes.OK {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: the place is never free", name)
			}
		}
	}
}

// TestPanics: what a call, or a stream, holds is given back when its handler panics.
func TestPanics(t *testing.T) {
	t.Parallel()
	for name, l := range limiters(t) {
		c := serve(t, l, "203.0.113.7:1", func(ctx context.Context) error {
			if sent, _ := metadata.FromIncomingContext(
				ctx); sent["x-api-key"][0] == "held, panics" {
				panic("in the handler")
			}
			return nil
		})
		await(t, c, codes.Internal, "x-api-key", "held, panics")
		await(t, c, codes.OK, "x-api-key", "held")
		stream := func() codes.Code {
			s, err := c.Watch(metadata.AppendToOutgoingContext(t.Context(), "x-api-key",
				"held, panics"), &grpc_health_v1.HealthCheckRequest{})
			for err == nil {
				_, err = s.Recv()
			}
			return status.Code(err)
		}
		for n := range 3 {
			for deadline := time.Now().Add(patience); stream() != codes.Internal; {
				if time.Now().After(deadline) {
					t.Fatalf("%s: no place for stream %d after one that panicked", name, n+1)
				}
			}
		}
		await(t, c, codes.OK, "x-api-key", "held")
	}
}

// TestRule: one rule, by the client that a trusted proxy names, or by a key.
func TestRule(t *testing.T) {
	t.Parallel()
	l := limiters(t)["node"]
	c := serve(t, l, "10.0.0.1:1", fine, interceptor.WithRule("login"),
		interceptor.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8")))
	for n, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
		if r := check(t, c, "x-forwarded-for", "192.0.2.1, 203.0.113.9"); r.code != want {
			t.Errorf("call %d: %+v", n+1, r)
		}
	}
	if r := check(t, c, "x-forwarded-for", "203.0.113.10"); r.code != codes.OK {
		t.Errorf("another client: %+v", r)
	}
	if a, err := l.Peek(t.Context(), "login", "203.0.113.9", 1); err != nil || a.Allowed() {
		t.Errorf("the key is not the address: %+v, %v", a, err)
	}
	c = serve(t, l, "203.0.113.7:1", fine, interceptor.WithRule("login"),
		interceptor.WithKey(func(_ context.Context, method string) string { return method }))
	for n, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
		if r := check(t, c); r.code != want {
			t.Errorf("by method, call %d: %+v", n+1, r)
		}
	}
}

// TestWithoutADaemon: the client's mode decides, and the errors are told.
func TestWithoutADaemon(t *testing.T) {
	t.Parallel()
	for mode, want := range map[client.FailMode]codes.Code{
		client.FailOpen:   codes.OK,
		client.FailClosed: codes.Unavailable,
	} {
		l, err := client.Dial("127.0.0.1:1", client.WithFailMode(mode),
			client.WithTimeout(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		var failed atomic.Int64
		c := serve(t, l, "203.0.113.7:1", fine,
			interceptor.WithErrorFunc(func(_ context.Context, method string, err error) {
				if method != "/grpc.health.v1.Health/Check" ||
					!errors.Is(err, client.ErrNoDaemon) && !errors.Is(err, client.ErrTimeout) {
					t.Errorf("%s: %v", method, err)
				}
				failed.Add(1)
			}))
		if r := check(t, c); r.code != want || failed.Load() != 1 {
			t.Errorf("mode %d: %+v, %d errors", mode, r, failed.Load())
		}
	}
}

// TestStatus: each code has a status, and one that is none is a failure of the server.
func TestStatus(t *testing.T) {
	t.Parallel()
	for code := range codes.Code(17) {
		if got := interceptor.Status(code); got < 200 || got > 599 {
			t.Errorf("%v: %d", code, got)
		}
	}
	if got := interceptor.Status(99); got != 500 {
		t.Errorf("%d", got)
	}
}
