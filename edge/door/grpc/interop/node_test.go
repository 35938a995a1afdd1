package interop

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
)

// start runs a node with listen.grpc until the test ends, and returns the door's address.
func start(t testing.TB, yaml string) net.Addr {
	t.Helper()
	c, err := config.Parse("headgate.yaml",
		[]byte("listen: {udp: [], http: [], admin: [], grpc: '127.0.0.1:0'}\n"+yaml))
	if err != nil {
		t.Fatal(err)
	}
	n, err := edge.New(t.Context(), edge.Options{Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return n.Addresses().Streams["grpc"][0]
}

// dial returns a client of grpc-go.
func dial(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// timeout returns a context for one call on a busy machine.
func timeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// bare is a grpc-go server with a constant answer.
type bare struct {
	rls.UnimplementedRateLimitServiceServer
}

func (bare) ShouldRateLimit(
	context.Context, *rls.RateLimitRequest,
) (*rls.RateLimitResponse, error) {
	return &rls.RateLimitResponse{OverallCode: rls.RateLimitResponse_OK}, nil
}

// startBare runs a bare grpc-go server until the test ends.
func startBare(t testing.TB) net.Addr {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	rls.RegisterRateLimitServiceServer(s, bare{})
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(s.Stop)
	return ln.Addr()
}
