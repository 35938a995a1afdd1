package edge

import (
	"context"
	"net/http"

	"github.com/headgate-dev/headgate/edge/client"
)

// A node answers the program around as a daemon answers a client, without a socket.
var _ client.Limiter = (*Node)(nil)

// Allow is Check of cost 1, without the details.
func (n *Node) Allow(ctx context.Context, rule, key string) (bool, error) {
	return n.local.Allow(ctx, rule, key)
}

// Check counts cost (0 means 1) for key under rule and returns the verdict; see [client.Query] for
// odd keys and costs.
//
// The node answers from memory and waits for nothing, whatever ctx: the only errors are
// [client.ErrUnknownRule] and wire.BadRequest, an impossible rule or question. The answer is then
// from Options.FailMode.
func (n *Node) Check(ctx context.Context, rule, key string, cost uint32) (client.Answer, error) {
	return n.local.Check(ctx, rule, key, cost)
}

// Peek is Check without counting.
func (n *Node) Peek(ctx context.Context, rule, key string, cost uint32) (client.Answer, error) {
	return n.local.Peek(ctx, rule, key, cost)
}

// Count counts cost for key under rule, without a verdict. With an error nothing was counted.
func (n *Node) Count(ctx context.Context, rule, key string, cost uint32) error {
	return n.local.Count(ctx, rule, key, cost)
}

// Batch answers many queries, in order, at a single reading of the clock.
func (n *Node) Batch(ctx context.Context, queries []client.Query) ([]client.Answer, error) {
	return n.local.Batch(ctx, queries)
}

// Ask asks the policies about a whole request. An answer with a Ticket waits for a Report of the
// response. The program is trusted as a proxy on a unix socket is: the client is r's.
func (n *Node) Ask(ctx context.Context, r client.Request) (client.Answer, error) {
	return n.local.Ask(ctx, r)
}

// Report reports the response to a request that Ask answered with a ticket, and gives back the
// request's places. An unknown ticket is counted as late, and no error.
func (n *Node) Report(ctx context.Context, ticket string, r client.Response) error {
	return n.local.Report(ctx, ticket, r)
}

// Handler is middleware for net/http: [client.NewHandler] with this node.
func (n *Node) Handler(next http.Handler, options ...client.HandlerOption) http.Handler {
	return n.local.Handler(next, options...)
}

// Stats returns the totals of the methods above since New; metrics of the whole node are at the
// admin listener.
func (n *Node) Stats() client.Stats { return n.local.Stats() }
