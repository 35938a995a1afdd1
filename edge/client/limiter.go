package client

import (
	"context"
	"net/http"
)

// Limiter is the interface a program asks: a [Client] of a daemon, or a node in the program itself
// (Node of package edge), which answers the same without a socket. A program taking a Limiter runs
// with either, and tests need no daemon.
type Limiter interface {
	Allow(ctx context.Context, rule, key string) (bool, error)
	Check(ctx context.Context, rule, key string, cost uint32) (Answer, error)
	Peek(ctx context.Context, rule, key string, cost uint32) (Answer, error)
	Count(ctx context.Context, rule, key string, cost uint32) error
	Batch(ctx context.Context, queries []Query) ([]Answer, error)
	Ask(ctx context.Context, r Request) (Answer, error)
	Report(ctx context.Context, ticket string, r Response) error
	Handler(next http.Handler, options ...HandlerOption) http.Handler
	Stats() Stats
}

var _ Limiter = (*Client)(nil)
