package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Door answers the questions of a program. Its methods may be called concurrently, and are those of
// [client.Client]. They do not wait, so no context ends them.
type Door struct {
	gate *gate.Gate
	room *ask.Room
	fail client.FailMode

	// A pool and not a list: seats that are not needed any more go with a garbage collection.
	seats  sync.Pool // of *seat
	seated atomic.Uint64

	panics door.Panics

	queries, unanswered atomic.Uint64
}

// seat is the memory of a question at a time.
type seat struct {
	lane     *gate.Lane
	session  *ask.Session
	ask      gate.Ask
	decision gate.Decision
	text     []byte // of the question: see keep
}

// New returns a door to g and room. fail is the verdict on questions that have none. Lanes are
// dealt to seats in turn, so questions at the same time rarely meet in a seat.
func New(g *gate.Gate, room *ask.Room, fail client.FailMode) *Door {
	d := &Door{gate: g, room: room, fail: fail}
	d.seats.New = func() any {
		// below Lanes
		return &seat{lane: g.Lane(int(d.seated.Add(1) % gate.Lanes)), session: room.NewSession()}
	}
	return d
}

// take returns a seat no other question uses. It is to be put back.
func (d *Door) take() *seat {
	s := d.seats.Get().(*seat) //nolint:forcetypeassert // see New
	s.text = s.text[:0]
	return s
}

// Panics counts the faults of the node a question of the program met.
func (d *Door) Panics() *door.Panics { return &d.panics }

// Stats returns the counters since New. Strays are 0.
func (d *Door) Stats() client.Stats {
	return client.Stats{Queries: d.queries.Load(), Unanswered: d.unanswered.Load()}
}

// Allow is [client.Client.Allow].
func (d *Door) Allow(ctx context.Context, rule, key string) (bool, error) {
	a, err := d.Check(ctx, rule, key, 1)
	return a.Allowed(), err
}

// Check is [client.Client.Check].
func (d *Door) Check(_ context.Context, rule, key string, cost uint32) (client.Answer, error) {
	return d.one(client.Query{Op: wire.Check, Rule: rule, Key: key, Cost: cost})
}

// Peek is [client.Client.Peek].
func (d *Door) Peek(_ context.Context, rule, key string, cost uint32) (client.Answer, error) {
	return d.one(client.Query{Op: wire.Peek, Rule: rule, Key: key, Cost: cost})
}

// Count is [client.Client.Count].
func (d *Door) Count(_ context.Context, rule, key string, cost uint32) error {
	_, err := d.one(client.Query{Op: wire.Count, Rule: rule, Key: key, Cost: cost})
	return err
}

// one answers a query. A panic in between loses the seat, and no more.
func (d *Door) one(q client.Query) (a client.Answer, err error) {
	defer d.caught(&a, &err)
	s := d.take()
	b := s.lane.Batch(d.gate.Now(), rand.Uint64)
	a = s.answer(&b, &q)
	b.End()
	d.seats.Put(s)
	d.queries.Add(1)
	if a.Err != nil {
		return d.verdictless(a.Err), missing(1, 1, a.Err)
	}
	return a, nil
}

// caught makes a panic the error of a question. It is deferred.
func (d *Door) caught(a *client.Answer, err *error) {
	if fault := recover(); fault != nil {
		d.panics.Note(fault)
		*a, *err = d.verdictless(wire.Internal), missing(1, 1, wire.Internal)
	}
}

// Batch is [client.Client.Batch].
func (d *Door) Batch(
	_ context.Context, queries []client.Query,
) (answers []client.Answer, err error) {
	answers = make([]client.Answer, len(queries))
	defer func() {
		if fault := recover(); fault != nil {
			d.panics.Note(fault)
			for i := range answers {
				answers[i].Err = wire.Internal
			}
			err = d.conclude(answers)
		}
	}()
	s := d.take()
	b := s.lane.Batch(d.gate.Now(), rand.Uint64)
	for i := range queries {
		s.text = s.text[:0]
		answers[i] = s.answer(&b, &queries[i])
	}
	b.End()
	d.seats.Put(s)
	d.queries.Add(uint64(len(queries)))
	return answers, d.conclude(answers)
}

// conclude puts the fail mode's verdict where there is none, and returns the error saying so.
func (d *Door) conclude(answers []client.Answer) error {
	var causes []error
	n := 0
	for i := range answers {
		err := answers[i].Err
		if err == nil {
			continue
		}
		if n++; !slices.Contains(causes, err) {
			causes = append(causes, err)
		}
		answers[i] = d.verdictless(err)
	}
	if n == 0 {
		return nil
	}
	return missing(n, len(answers), errors.Join(causes...))
}

// verdictless returns the answer to a question with no verdict, and counts it.
func (d *Door) verdictless(err error) client.Answer {
	d.unanswered.Add(1)
	return d.fail.Verdict(err)
}

// missing returns the error of n of all questions without a verdict.
func missing(n, all int, cause error) error {
	return fmt.Errorf("headgate: no verdict on %d of %d queries: %w", n, all, cause)
}

// Handler is [client.Client.Handler].
func (d *Door) Handler(next http.Handler, options ...client.HandlerOption) http.Handler {
	return client.NewHandler(d, next, options...)
}
