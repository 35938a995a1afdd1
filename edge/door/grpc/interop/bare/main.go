// Command bare is a grpc-go server with a constant answer to ShouldRateLimit: what bench/grpc.sh
// holds the door to.
package main

import (
	"context"
	"log"
	"net"
	"os"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

// server answers OK, with two statuses.
type server struct {
	rls.UnimplementedRateLimitServiceServer
}

// ShouldRateLimit answers one call.
func (server) ShouldRateLimit(
	context.Context, *rls.RateLimitRequest,
) (*rls.RateLimitResponse, error) {
	ok := &rls.RateLimitResponse_DescriptorStatus{
		Code:           rls.RateLimitResponse_OK,
		LimitRemaining: 41,
	}
	return &rls.RateLimitResponse{
		OverallCode: rls.RateLimitResponse_OK,
		Statuses:    []*rls.RateLimitResponse_DescriptorStatus{ok, ok},
	}, nil
}

func main() {
	ln, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	rls.RegisterRateLimitServiceServer(s, server{})
	log.Fatal(s.Serve(ln))
}
