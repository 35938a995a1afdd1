package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/cmd/headgate/oracle"
	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// judge is the part of an edge a replay drives.
type judge interface {
	Decide(now window.Instant, u uint64, a gate.Ask) (gate.Decision, error)
	Offered(now window.Instant, rule, key []byte) int64
	SuspectSince(rule, key []byte) (window.Instant, bool)
	Sweep(now window.Instant) (steps int)
}

// node is an edge, asked through the first lane.
type node struct {
	*gate.Gate
	lane *gate.Lane
}

// Decide asks the lane.
func (n node) Decide(now window.Instant, u uint64, a gate.Ask) (gate.Decision, error) {
	return n.lane.Decide(now, u, a)
}

func openJudge(cfg config.Config, start time.Time) (judge, error) {
	e, err := edge.NewGate(cfg, start)
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	return node{e, e.Lane(0)}, nil
}

const (
	replaySeed = 4290 // of the bits drawn per request: a replay can be repeated
)

// replay is a run over logs. Not safe for concurrent use.
type replay struct {
	rule      mitigation.Rule
	name      []byte // of the rule
	keyOf     func(*accesslog.Record) []byte
	format    accesslog.Format
	clients   request.Clients
	keyer     *keyer           // of a policy's rule; nil: keyOf knows the key of every request
	unmatched int64            // requests that its policy does not ask about
	formats   map[string]int64 // lines that were read, by format
	open      func(start time.Time) (judge, error)

	judge  judge // nil until the first record sets the time, and of a trial
	draw   *rand.Rand
	now    window.Instant // the log's time, through a running maximum
	upkeep upkeep
	tally  *replayTally
	book   *oracle.Book // nil: no oracle
	trial  trial        // not nil: it takes the requests in place of the judge
	order  *transit     // of kind concurrency: requests in the order of their start; else nil
	under  underWay     // of kind concurrency: the requests holding a place
	tiers  *tiers       // of a rule with a reserve; nil: no request has a tier
	// not nil: whole requests are judged, in place of questions about a rule; then judge is the
	// house
	house  *house
	faults accesslog.Faults

	file *os.File // where decisions go; nil: nowhere
	out  *bufio.Writer
	line []byte // reused for each decision written
}

func newReplay(
	rule mitigation.Rule, keyOf func(*accesslog.Record) []byte, f accesslog.Format, exact bool,
) *replay {
	r := &replay{
		rule: rule, name: []byte(rule.Name), keyOf: keyOf, format: f,
		draw:  rand.New(rand.NewPCG(replaySeed, 0)), //nolint:gosec // repeatable on purpose
		tally: newReplayTally(), formats: map[string]int64{},
	}
	if rule.Kind == mitigation.Concurrency {
		r.order = &transit{lease: rule.Lease}
	}
	if exact {
		r.book = oracle.NewBook(rule.Limit, rule.Window)
	}
	return r
}

// openHouse has r ask the policies of cfg.
func (r *replay) openHouse(cfg config.Config) {
	r.open = func(start time.Time) (judge, error) {
		h, err := openHouse(cfg, start, r.draw)
		r.house = h
		return h, err
	}
}

// readAll replays the files in turn. A file broken off in the middle ends the replay there; results
// from before stand.
func (r *replay) readAll(ctx context.Context, logs []string, p *progress) (err error) {
	for _, name := range logs {
		if err = r.readFile(ctx, name, p); err != nil {
			break
		}
	}
	if r.order != nil {
		err = firstError(err, r.order.flush(r.decideBegun))
	}
	return err
}

func (r *replay) readFile(ctx context.Context, name string, p *progress) error {
	file, err := os.Open(name) //nolint:gosec // the file the operator named
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read from
	in, err := accesslog.NewReader(file, name, r.format, &r.faults)
	if err != nil {
		return err
	}
	defer func() { p.done(in.Consumed()) }()
	var rec accesslog.Record
	for n := 1; ; n++ {
		if err := in.Read(&rec); err != nil {
			return ignoreEOF(err)
		}
		r.formats[in.Format().String()]++
		if err := r.record(&rec, accesslog.Fault{File: name, Line: in.Line()}); err != nil {
			return err
		}
		// records between two looks at the progress
		if n%(1<<14) == 0 {
			p.show(in.Consumed(), r.tally.requests)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// record decides a request of the log, found at the place of where.
func (r *replay) record(rec *accesslog.Record, where accesslog.Fault) error {
	if err := findClient(&r.clients, rec); err != nil {
		where.Err = err
		r.faults.Add(where)
		return nil
	}
	key := r.keyOf(rec)
	if r.keyer != nil {
		of, ok := r.keyer.of(rec, r.trial != nil)
		if !ok {
			r.unmatched++
			return nil
		}
		key = of
	}
	if len(key) == 0 || len(key) > mitigation.MaxKey {
		where.Err = fmt.Errorf("key of %d bytes: it must have 1..%d", len(key), mitigation.MaxKey)
		r.faults.Add(where)
		return nil
	}
	if r.order == nil {
		return r.decide(rec, key)
	}
	if rec.Took < 0 {
		where.Err = errNoDuration
		r.faults.Add(where)
		return nil
	}
	return r.order.add(rec, key, r.decideBegun)
}

// decideBegun decides a request let go by transit.
func (r *replay) decideBegun(b *begun) error { return r.decide(&b.rec, b.key) }

// decide decides a request at the right time.
func (r *replay) decide(rec *accesslog.Record, key []byte) error {
	if err := r.advance(window.Instant(rec.Time)); err != nil {
		return err
	}
	if r.trial != nil {
		r.tally.requests++
		r.trial.Take(r.now, key, r.left(rec))
		return nil
	}
	if err := r.release(); err != nil {
		return err
	}
	answer, err := r.answer(rec, key)
	if err != nil {
		return fmt.Errorf("decide %q under rule %s: %w", key, r.rule.Name, err)
	}
	r.hold(key, answer.Lease, rec)
	r.tally.add(r.now, key, answer)
	if r.book != nil {
		r.book.Take(r.decided(key, answer))
	}
	if r.out != nil {
		return r.writeDecision(rec, answer)
	}
	return nil
}

// answer asks about a request of the log.
func (r *replay) answer(rec *accesslog.Record, key []byte) (gate.Decision, error) {
	if r.house != nil {
		return r.house.ask(r.now, rec), nil
	}
	return r.judge.Decide(r.now, r.draw.Uint64(), r.ask(rec, key))
}

// advance moves the time on to t, never back, and does the upkeep due on the way.
func (r *replay) advance(t window.Instant) error {
	if r.tally.requests == 0 {
		if err := r.begin(t); err != nil {
			return err
		}
	}
	if t < r.now {
		r.tally.wentBack++
	}
	r.now = max(r.now, t)
	if r.judge != nil {
		r.upkeep.step(r.judge, r.now, max(r.rule.Fill(), mitigation.MinWindow))
	}
	return nil
}

// begin starts the log's time at t, with a judge unless this is a trial.
func (r *replay) begin(t window.Instant) (err error) {
	r.now, r.upkeep.turned, r.tally.began = t, t, t
	if r.trial == nil {
		r.judge, err = r.open(t.Time())
	}
	return err
}

// decided returns an answer in the oracle's form.
func (r *replay) decided(key []byte, a gate.Decision) oracle.Decided {
	since, suspect := r.judge.SuspectSince(r.name, key)
	if k := r.tally.key(key); k != nil {
		since = max(since, k.stay.visit(r.now, r.upkeep.turned, r.rule.Window))
	}
	return oracle.Decided{
		At: r.now, Key: key, Cost: 1,
		Estimate: r.judge.Offered(r.now, r.name, key),
		Refused:  a.Deny,
		ByFlag:   a.Deny && a.Why != mitigation.ByLimit,
		Settled:  suspect && r.now.Sub(since) >= r.rule.Window,
	}
}

// finish writes out the buffer and returns the summary of a run of elapsed.
func (r *replay) finish(elapsed time.Duration) (*replaySummary, error) {
	if r.out != nil {
		if err := errors.Join(r.out.Flush(), r.file.Close()); err != nil {
			return nil, fmt.Errorf("write decisions: %w", err)
		}
	}
	s := r.tally.summary(r.rule, elapsed)
	s.Ended, s.BadLines, s.Formats = r.now.Time().UTC(), r.faults.Count, r.formats
	if r.keyer != nil {
		s.Matched = &r.tally.requests
	}
	if r.house != nil {
		s.Policies, s.Rules = r.house.figures()
	}
	if r.book != nil {
		s.Oracle = r.book.Close()
	}
	return s, nil
}
