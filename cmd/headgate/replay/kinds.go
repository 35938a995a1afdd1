package replay

import (
	"container/heap"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// errNoDuration is the fault of a line under a rule of kind concurrency.
var errNoDuration = errors.New("no duration, which a concurrency limit needs: a sixth field of " +
	"TSV, request_time or duration of JSON, $request_time at the end of a combined line")

// releaser gives back leases.
type releaser interface {
	Release(now window.Instant, rule, key []byte, lease uint64) (late bool, err error)
}

// underWay are the leases the requests of a log hold, by their end.
type underWay []ending

type ending struct {
	at     window.Instant
	key    []byte
	lease  uint64 // or a ticket, of whole requests
	status int
}

// Len, Less, Swap, Push and Pop are container/heap's interface.

func (u underWay) Len() int           { return len(u) }
func (u underWay) Less(i, j int) bool { return u[i].at < u[j].at }
func (u underWay) Swap(i, j int)      { u[i], u[j] = u[j], u[i] }
func (u *underWay) Push(x any)        { *u = append(*u, x.(ending)) } // only hold pushes

func (u *underWay) Pop() any {
	last := len(*u) - 1
	e := (*u)[last]
	*u = (*u)[:last]
	return e
}

// release gives back the leases of the requests ended at the log's present, and reports the
// responses.
func (r *replay) release() error {
	from, ok := r.judge.(releaser)
	for r.house != nil && len(r.under) > 0 && r.under[0].at <= r.now {
		e := heap.Pop(&r.under).(ending) // the heap holds nothing else
		r.house.report(r.now, e.lease, e.status)
	}
	for ok && len(r.under) > 0 && r.under[0].at <= r.now {
		e := heap.Pop(&r.under).(ending) // the heap holds nothing else
		if _, err := from.Release(r.now, r.name, e.key, e.lease); err != nil {
			return fmt.Errorf("release a place of %q: %w", e.key, err)
		}
	}
	return nil
}

// left returns the time from the log's present to the end of a request.
func (r *replay) left(rec *accesslog.Record) time.Duration {
	return max(0, window.Instant(rec.Time+max(0, rec.Took)).Sub(r.now))
}

// hold notes that the end of a request's lease with the response.
func (r *replay) hold(key []byte, lease uint64, rec *accesslog.Record) {
	if lease != 0 {
		heap.Push(&r.under, ending{r.now.Add(r.left(rec)), slices.Clone(key), lease, rec.Status})
	}
}

// tiers finds the tier of a request of a log, by the policies of the file.
type tiers struct {
	engine  *policy.Engine
	request request.Request
	result  policy.Result
}

// tiersOf returns the tiers under cfg for a rule with a reserve; nil where none is needed or known.
func tiersOf(cfg *config.Config, rule *mitigation.Rule) (*tiers, error) {
	if len(rule.Reserve) == 0 {
		return nil, nil
	}
	e, err := config.LoadPolicies(cfg, [32]byte{})
	if err != nil || e == nil {
		return nil, err
	}
	return &tiers{engine: e}, nil
}

// of returns the tier of rec, valid until the next call; nil: none.
func (t *tiers) of(rec *accesslog.Record) []byte {
	if t == nil {
		return nil
	}
	q := &t.request
	q.Reset(t.engine.Names())
	q.Method = append(q.Method[:0], rec.Method...)
	q.SetTarget(rec.Path, t.engine.Clients())
	if client, err := netip.ParseAddr(string(rec.Client)); err == nil {
		q.FindClient(t.engine.Clients(), client)
	}
	t.engine.Evaluate(q, &t.result)
	return t.result.Tier
}

// kindError returns the reason why a kind cannot be tried under rule; nil: what was asked for can.
func (o *replayOptions) kindError(rule *mitigation.Rule) error {
	counts := rule.Counts == mitigation.CountOffered
	switch {
	case o.oracle && (rule.Kind != mitigation.Window || counts ||
		len(rule.Reserve) > 0 || rule.MaxBlast > 0):
		return fmt.Errorf("%s: --oracle is for windows without a reserve or max_blast that count "+
			"what was admitted", rule.Name)
	}
	return nil
}

// ask is the question about a request of the log.
func (r *replay) ask(rec *accesslog.Record, key []byte) gate.Ask {
	a := gate.Ask{
		Op: gate.Check, Cost: 1, Rule: r.name, Key: key,
		Tier: r.tiers.of(rec), Wait: true,
	}
	if r.rule.Kind == mitigation.Concurrency {
		a.Op = gate.Acquire
	}
	return a
}
