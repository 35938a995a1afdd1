//go:build !race

package edge_test

import (
	"context"
	"net/http"
	"net/netip"
	"testing"

	"github.com/headgate-dev/headgate/edge/client"
)

// BenchmarkNode is a question of the program that holds the node: about one key, and about a whole
// request that one policy matches.
func BenchmarkNode(b *testing.B) {
	n := embed(b, embeddedConfig, client.FailOpen)
	ctx := context.Background()
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = n.Check(ctx, "few", "203.0.113.7", 1)
		}
	})
	b.Run("ask", func(b *testing.B) {
		b.ReportAllocs()
		r := client.Request{
			Method: http.MethodGet, Host: "example.com", Path: "/all/1",
			Client: netip.MustParseAddr("203.0.113.7"), Headers: http.Header{"X-Api-Key": {"k"}},
		}
		for b.Loop() {
			_, _ = n.Ask(ctx, r)
		}
	})
}

// TestNodeDoesNotAllocate: a decision in the program allocates nothing.
func TestNodeDoesNotAllocate(t *testing.T) {
	n := embed(t, embeddedConfig, client.FailOpen)
	ctx := context.Background()
	r := client.Request{
		Host: "example.com", Path: "/all/1", Method: http.MethodGet,
		Client:  netip.MustParseAddr("203.0.113.7"),
		Headers: http.Header{"X-Api-Key": {"k"}, "X-Other": {"v"}},
	}
	for name, ask := range map[string]func(){
		"check": func() { _, _ = n.Check(ctx, "few", "203.0.113.7", 1) },
		"ask":   func() { _, _ = n.Ask(ctx, r) },
	} {
		// a collection empties the pool of seats
		if got := testing.AllocsPerRun(200, ask); got >= 1 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
