package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Ask asks many questions at once, up to 40 in a datagram and several datagrams
// in flight. The answers are in the order of the queries, each with the ID of
// its query (ids are not sent; the client has its own). All share one deadline:
// the context's, or the client's timeout if that is sooner.
//
// Every answer holds a verdict (OK for Count), as with [Client.Check]. Those that
// are Assumed had none from the daemon, and the error says why, for all of them
// together; an answer's Code is set where that was its reason. A query that is
// against the protocol, Ping among them, spoils only its own answer.
func (c *Client) Ask(ctx context.Context, queries []Query) ([]Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
	defer cancel()
	k := newCall(queries)
	err := c.ask(ctx, k)
	return k.answers, c.conclude(k, err)
}

// ask returns when every question of k is settled or none will be any more.
// After that nobody else touches k.
func (c *Client) ask(ctx context.Context, k *call) error {
	defer c.forget(k)
	for next := 0; next < len(k.queries); {
		for range packetsInFlight {
			var err error
			if next, err = c.send(ctx, k, next); err != nil {
				return err
			}
		}
		if err := c.wait(ctx, k); err != nil {
			return err
		}
		k.sent = k.sent[:0]
	}
	return nil
}

// send sends one datagram with the questions of k from index from on, and
// returns the index of the first that had no room. With none left it sends
// nothing.
func (c *Client) send(ctx context.Context, k *call, from int) (next int, err error) {
	if from == len(k.queries) {
		return from, nil
	}
	if err := c.takeTurn(ctx); err != nil {
		return from, err
	}
	defer func() { <-c.turn }()
	conn, err := c.socket(ctx)
	if err != nil {
		return from, err
	}
	next = c.packet.fill(k, from)
	if c.packet.lines == 0 {
		return next, nil
	}
	if err := c.register(k); err != nil {
		return next, err
	}
	return next, c.write(ctx, conn)
}

// takeTurn waits until this goroutine may write. A mutex would not let go at a
// deadline.
func (c *Client) takeTurn(ctx context.Context) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// wait returns when all questions that were sent are settled.
func (c *Client) wait(ctx context.Context, k *call) error {
	for {
		c.mu.Lock()
		left, err := k.left, k.err
		c.mu.Unlock()
		if left == 0 || err != nil {
			return err
		}
		select {
		case <-k.news:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}

// ended says why ctx ended: by the client's own timeout, or as its owner wished.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return ErrTimeout
	}
	return ctx.Err()
}

// conclude puts the fail mode's verdict where the daemon gave none, and returns the error that says
// so. err is the reason why unsettled questions have no answer.
func (c *Client) conclude(k *call, err error) error {
	var causes []error
	missing := 0
	for i := range k.answers {
		a := &k.answers[i]
		if cause := fault(k.queries[i].Op, a, err); cause != nil {
			code := a.Code
			*a = c.fail.verdict()
			a.Code = code
			missing++
			if !slices.Contains(causes, cause) {
				causes = append(causes, cause)
			}
		}
		a.ID = k.queries[i].ID
	}
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("wire: %d of %d questions to %s got no verdict: %w",
		missing, len(k.answers), c.address, errors.Join(causes...))
}

// fault returns why a is no answer to op, nil if it is one. Where none came, the
// reason is unsettled.
func fault(op Op, a *Answer, unsettled error) error {
	switch {
	case a.Assumed:
		return unsettled
	case a.Status == Error && a.Code != NoError:
		return a.Code
	case op == Count && a.Status == OK, op != Count && a.Status <= Deny:
		return nil
	}
	return ErrReply
}
