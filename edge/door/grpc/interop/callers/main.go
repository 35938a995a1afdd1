// Command callers asks a rate limit service by grpc-go, each caller one call after the other over
// one connection, and prints the calls a second, how long they took, and its own processor time a
// call.
//
//	callers 127.0.0.1:4294 8 5s
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// describe returns a descriptor of one entry.
// Most configurations of Envoy send one entry.
func describe(key, value string) *ratelimit.RateLimitDescriptor {
	return &ratelimit.RateLimitDescriptor{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: key, Value: value}}}
}

func main() {
	callers, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	length, err := time.ParseDuration(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	conn, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	c := rls.NewRateLimitServiceClient(conn)
	request := &rls.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{describe("address", "192.0.2.1"), describe("user", "anna@example.or")}}
	var all sync.WaitGroup
	// A list each, so that callers share nothing but the connection.
	took := make([][]time.Duration, callers)
	end := time.Now().Add(length)
	for n := range callers {
		all.Go(func() {
			// The end of a call is the beginning of the next one: one reading of the clock a call.
			for now := time.Now(); now.Before(end); {
				if _, err := c.ShouldRateLimit(context.Background(), request); err != nil {
					log.Fatal(err)
				}
				after := time.Now()
				took[n] = append(took[n], after.Sub(now))
				now = after
			}
		})
	}
	all.Wait()
	every := slices.Concat(took...)
	slices.Sort(every)
	fmt.Printf("%d callers: %.0f calls/s, p50 %v, p99 %v; %.1f us of the callers' own processor time a call\n", callers, float64(len(every))/length.Seconds(),
		every[len(every)/2].Round(time.Microsecond), every[len(every)*99/100].Round(time.Microsecond), spent().Seconds()*1e6/float64(len(every)))
}

// spent returns the processor time of this process.
func spent() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
