package edge_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/config"
)

// A program may hold a node of its own. It asks the node without a socket, by the methods of a
// client, and still shares its limits with the other nodes of its PoP if the configuration names a
// ring.
func ExampleNew() {
	cfg, err := config.Parse("embedded", []byte(`
node: example
memory: 4MiB
rules: [{name: login, limit: 2, window: 1m}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	// no sockets; a program that wants the dashboard keeps cfg.Listen.Admin
	cfg.Listen = config.Listen{}

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	node, err := edge.New(ctx, edge.Options{Config: &cfg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- node.Run(ctx) }()

	var limiter client.Limiter = node // or a client of a daemon, by client.Dial
	for range 3 {
		answer, err := limiter.Check(ctx, "login", "203.0.113.7", 1)
		fmt.Println(answer.Status, answer.Remaining, err)
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// allow 1 <nil>
	// allow 0 <nil>
	// deny 0 <nil>
	// <nil>
}

// The middleware of a node is that of a client: here at most one request of a client is under way.
func ExampleNode_Handler() {
	cfg, err := config.Parse("embedded", []byte(`
node: example
memory: 4MiB
rules: []
policies: [{name: exports, match: {path: "/exports/**"}, kind: concurrency, limit: 1}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg.Listen = config.Listen{}
	node, err := edge.New(context.Background(),
		edge.Options{Config: &cfg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Close() }() // a server that lasts has it Run, in a goroutine

	visit := func(h http.Handler) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/exports/2026", nil))
		return w.Code
	}
	second := node.Handler(http.NotFoundHandler())
	first := node.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		fmt.Println("beside the first:", visit(second))
	}))
	fmt.Println("the first:", visit(first))
	fmt.Println("after it:", visit(second))
	// Output:
	// beside the first: 429
	// the first: 200
	// after it: 404
}
