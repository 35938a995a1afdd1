package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Batch sends many queries at once, up to 40 in a datagram and several datagrams in flight. The
// answers are in the order of the queries. All share a deadline: the context's, or the client's
// timeout if sooner.
//
// Every answer holds a verdict, as with [Client.Check]. The Err of an answer is the reason for no
// answer of the daemon, and the error joins these reasons. A query against the protocol (an
// impossible name of a rule) spoils only the query's answer.
func (c *Client) Batch(ctx context.Context, queries []Query) ([]Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
	defer cancel()
	k := newCall(queries)
	err := c.ask(ctx, k)
	return k.answers, c.conclude(k, err)
}

// Ask asks the policies of the daemon about a whole request. The answer is usable with an error
// too, as with [Client.Check]. An answer with a Ticket waits for a [Client.Report] of the response.
func (c *Client) Ask(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
	defer cancel()
	k := newCall(make([]Query, 1))
	k.whole = r.line()
	err := c.conclude(k, c.ask(ctx, k))
	return k.answers[0], err
}

// Report reports the response to a request that [Client.Ask] answered with a ticket, and releases
// the places of the request. Report sends and does not wait: an error means not sent. Without a
// ticket there is nothing to report.
func (c *Client) Report(ctx context.Context, ticket string, r Response) error {
	if ticket == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
	defer cancel()
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-c.turn }()
	conn, err := c.socket(ctx)
	if err != nil {
		return err
	}
	c.packet.Reset(false)
	c.packet.AppendUnanswered(r.line(ticket))
	return c.write(ctx, conn)
}

// ask returns when every query of k is answered or has failed. After no other goroutine uses k. A
// few datagrams at a time and not all at once: more would overflow the socket's buffer, and be lost
// silently.
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

// send sends a datagram with the queries of k from index from on, and returns the index of the
// first with no room. With none left nothing is sent. A distant daemon sends no reply longer than
// the request, or the daemon could be used to amplify: fill is told.
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
	if next = len(k.queries); k.whole == nil {
		next = c.packet.fill(k, from, remote(conn.RemoteAddr()) || c.cut.Load())
	} else {
		c.packet.fillWhole(k)
	}
	if c.packet.Lines() == 0 {
		return next, nil
	}
	if err := c.register(k); err != nil {
		return next, err
	}
	return next, c.write(ctx, conn)
}

// takeTurn waits until this goroutine may write. Waiting for a mutex could not end with ctx.
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

// wait returns when all sent queries are answered.
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

// ended returns why ctx ended: ErrTimeout by the client's own timeout, or the context's error.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return ErrTimeout
	}
	return ctx.Err()
}

// conclude puts the fail mode's verdict where the daemon gave none, and returns the error saying
// so. err is the reason why the pending queries have no answer. Causes are named once each: an
// absent daemon would fill the error with a thousand times the same.
func (c *Client) conclude(k *call, err error) error {
	c.queries.Add(uint64(len(k.answers)))
	var causes []error
	missing := 0
	for i := range k.answers {
		a := &k.answers[i]
		if a.Err == nil {
			continue
		}
		if errors.Is(a.Err, errPending) {
			a.Err = err
		}
		if missing++; !slices.Contains(causes, a.Err) {
			causes = append(causes, a.Err)
		}
		*a = c.fail.Verdict(a.Err)
	}
	if missing == 0 {
		return nil
	}
	c.unanswered.Add(uint64(missing))
	return fmt.Errorf("headgate: no verdict from %s on %d of %d queries: %w",
		c.address, missing, len(k.answers), errors.Join(causes...))
}
