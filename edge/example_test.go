package edge_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
)

// A program may hold a node of its own. It asks the node's gate without a socket, and still shares
// its limits with the other nodes of its PoP if the configuration names a ring. Each goroutine that
// asks often should have a lane of its own, 0 to gate.Lanes-1.
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
	cfg.Listen = config.Listen{} // no sockets; a program that wants the dashboard keeps cfg.Listen.Admin

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	node, err := edge.New(ctx, edge.Options{Config: &cfg, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() { done <- node.Run(ctx) }()

	g := node.Gate()
	for range 3 {
		d, err := g.Lane(0).Decide(g.Now(), rand.Uint64(), gate.Ask{Rule: []byte("login"), Key: []byte("203.0.113.7")})
		fmt.Println(!d.Deny, d.Remaining, err)
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
	// <nil>
}
