package pop

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/usedup"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Tally adds up the counts of all nodes of a PoP. It is a *ring.Ring; tests have others.
type Tally interface {
	// Do answers every operation, by its total or its error. It returns within tens of milliseconds
	// even if its servers hang.
	Do(ctx context.Context, ops []ring.Op)
	// Up reports whether the server with that number, from 0, has answered lately. It may be called
	// concurrently.
	Up(server int) bool
}

// Options are the values a node shares with the other nodes of its PoP, and its way to them.
type Options struct {
	Tally     Tally
	Placement *ring.Placement // the server of each counter; the same on all nodes
	// the names of the counters are derived from it; the same on all nodes
	Secret []byte
	Every  time.Duration // between two flushes, above 0; the gate's Options.Flush
	// Phase is how long Run waits before its first Every, 0 or more: nodes that start together are
	// not to flush together.
	Phase time.Duration
	// Rest is called after each tenth of a millisecond of a flush's work or so, to let others run;
	// nil: nothing is.
	Rest func()
}

// Flusher exchanges a gate's counts with the ring. Flush, Hurry and Run belong to a single
// goroutine; Rekey and Stats may be called concurrently.
type Flusher struct {
	gate    *gate.Gate
	options Options
	digest  *ring.Digester // of the heartbeats' names
	names   *nameTable     // of the counters
	// the secret of all names from the next flush on; nil: as before
	rekeys    atomic.Pointer[[]byte]
	heartbeat *heartbeat
	board     *board // of keys at their limits

	quarantines []quarantine // by server
	began       time.Time    // start of the present exchange, by the machine's clock
	failing     bool         // an exchange of this flush failed, other than by being late
	rests       time.Time    // before it, Run calls only Flush
	hurries     bool         // the present exchange is Hurry's
	// Run drives time, so an exchange takes time; tests move it by hand
	runs  bool
	dues  []window.Due // of the present exchange, for the ring
	keys  []byte       // the bytes of their keys
	ops   []ring.Op    // of the present exchange; the heartbeat's come first
	alone []window.Due // keys of global rules whose server is lost, in this exchange

	flushes, failed, implausible atomic.Uint64
	early                        atomic.Uint64 // exchanges by Hurry
	spent                        atomic.Int64  // nanoseconds, all flushes
	last                         atomic.Int64  // nanoseconds, the last flush
}

// New returns a flusher making g count its shared rules together with the other nodes of its PoP. g
// must have been made with as many servers as the placement has, and must not be running yet.
func New(g *gate.Gate, o Options) *Flusher {
	servers := len(o.Placement.Servers())
	p := &Flusher{
		gate:        g,
		options:     o,
		digest:      ring.NewDigester(o.Secret),
		names:       newNameTable(o.Secret, o.Placement),
		quarantines: make([]quarantine, servers),
	}
	p.heartbeat = newHeartbeat(p, servers)
	g.UsedUp().SetSecret(o.Secret)
	p.board = newBoard(options{
		Table:   g.UsedUp(),
		Digest:  p.digest,
		Every:   o.Every,
		Servers: servers,
		Up:      o.Tally.Up,
		Do:      o.Tally.Do,
	})
	return p
}

// Run flushes until ctx ends, and once more then, so the other nodes learn of the last admissions.
func (p *Flusher) Run(ctx context.Context) {
	p.runs = true
	select {
	case <-ctx.Done():
	case <-time.After(p.options.Phase):
	}
	tick := time.NewTicker(p.options.Every)
	defer tick.Stop()
	// Go makes no stopped timer: this one has a first tick, at which another exchange does no harm.
	soon, look := time.NewTimer(p.options.Every), time.NewTimer(p.options.Every)
	defer soon.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			now := time.Now()
			p.Flush(context.WithoutCancel(ctx), p.gate.At(now), now)
			return
		case <-tick.C:
			// a single reading: being suspended between two would look like a step of the clock
			now := time.Now()
			again(look, p.Flush(ctx, p.gate.At(now), now))
		case <-look.C:
			now := time.Now()
			again(look, p.Look(ctx, p.gate.At(now), now))
		case <-p.gate.Hurry():
			soon.Reset(max(HurryAfter, time.Until(p.rests)))
		case <-soon.C:
			now := time.Now()
			again(soon, p.Hurry(ctx, p.gate.At(now), now))
		}
	}
}

// again resets t to after; 0: not.
func again(t *time.Timer, after time.Duration) {
	if after > 0 {
		t.Reset(after)
	}
}

// Rekey derives the names of the counters from secret, from the next flush on. The counters under
// the old names are not found any more, as if the servers had forgotten them.
func (p *Flusher) Rekey(secret []byte) { p.rekeys.Store(&secret) }

// rekey puts the secret of Rekey in force, if there is a new.
func (p *Flusher) rekey() {
	secret := p.rekeys.Swap(nil)
	if secret == nil {
		return
	}
	p.digest = ring.NewDigester(*secret)
	p.names.Rekey(*secret)
	p.gate.UsedUp().SetSecret(*secret)
	p.board.Rekey(p.digest)
	p.heartbeat.clocks.on = nil // new names
}

// Flush is an exchange with the ring at now; wall is the node's wall clock at the same moment. It
// returns the time until Look is to be called; 0: no look is under way.
func (p *Flusher) Flush(
	ctx context.Context, now window.Instant, wall time.Time,
) (look time.Duration) {
	f := p.begin(now, wall)
	p.rekey()
	p.heartbeat.noticeStep(raw(now, wall))
	f.Wall = raw(now, wall) - p.heartbeat.offset()
	p.ops = p.heartbeat.collect(p.ops[:0], wall)
	beats := len(p.ops)
	// Until the heartbeat has joined, others do not count this node among those that share: it adds
	// nothing yet.
	p.dues = p.dues[:0]
	if p.heartbeat.joined {
		p.ops = p.board.Collect(p.ops)
		p.dues, p.keys = p.gate.Collect(f, p.dues, p.keys[:0])
	}
	// Order of p.ops: heartbeat, board, then an exchange for each due. beats and own are the
	// borders.
	own := len(p.ops)
	p.heartbeat.clocks.stamp(p.ops[:beats], p.elapsed())
	p.exchange(ctx, &f)
	p.heartbeat.merge(p.ops[:beats], now)
	p.gate.Ring().SetClock(p.heartbeat.state())
	p.mergeAll(f, own)
	p.notify(ctx, f, p.ops[beats:own])
	for n := range p.alone {
		p.gate.MergeAlone(f, &p.alone[n])
	}
	p.gate.Report(now)
	p.gate.Ring().SetFailing(p.failing)
	p.count(time.Since(p.began))
	return p.Look(ctx, now.Add(p.elapsed()), wall.Add(p.elapsed()))
}

// notify exchanges which keys are at their limits, after an exchange that began with numbers, the
// operations of the board.
func (p *Flusher) notify(ctx context.Context, f window.Flush, numbers []ring.Op) {
	p.board.clock = uint64(f.Now.Add(f.Wall) / 1e6) // after 1970
	p.board.Merge(f.Now, numbers)
	p.gate.CollectReopened(func(n usedup.Name, version uint64) {
		p.board.Add(f.Now, notice{Name: n, Version: version})
	})
	p.gate.CollectFilled(f.Now, func(r *mitigation.Rule, k window.Filled) {
		p.board.Add(f.Now, notice{Name: p.gate.UsedUp().Name(r, k.Key), Until: k.Until})
	})
	p.board.Exchange(ctx, func() window.Instant {
		return f.Now.Add(p.elapsed())
	})
}

// elapsed returns how long the present exchange has taken; on virtual time 0.
func (p *Flusher) elapsed() time.Duration {
	if !p.runs {
		return 0
	}
	return time.Since(p.began)
}

// count adds a flush that took so long to the statistics.
func (p *Flusher) count(took time.Duration) {
	p.flushes.Add(1)
	p.spent.Add(int64(took))
	p.last.Store(int64(took))
}

// begin returns the terms of an exchange at now.
func (p *Flusher) begin(now window.Instant, wall time.Time) window.Flush {
	p.began = time.Now()
	return window.Flush{
		Now: now, Wall: raw(now, wall) - p.heartbeat.offset(),
		Interval: p.options.Every,
		Room:     gate.FlushRoom,
		Alone:    p.gate.Reports(),
		Rest:     p.options.Rest,
		Nodes:    p.heartbeat.nodes(),
		Down: func(server int) bool {
			return !p.options.Tally.Up(server) ||
				p.quarantines[server].at(now)
		},
	}
}

// exchange asks the ring for all dues, after the operations that p.ops already holds.
func (p *Flusher) exchange(ctx context.Context, f *window.Flush) {
	p.splitAlone()
	p.address()
	p.options.Tally.Do(ctx, p.ops)
	f.Took = p.elapsed()
	p.noteAnswers(f.Now)
}

// address appends an operation on a counter for every due.
func (p *Flusher) address() {
	p.names.Reserve(len(p.dues))
	for n := range p.dues {
		if n%window.PrefetchDues == 0 {
			p.names.Prefetch(p.soon(n))
		}
		d := &p.dues[n]
		key, server := p.names.Of(d)
		// TTL: at most two days
		p.ops = append(p.ops,
			ring.Op{Key: *key, Server: server, Delta: d.Delta, TTL: uint32(d.TTL / time.Second)})
	}
}

// mergeAll merges the answers to all dues, whose operations begin at first. Every total is checked
// before any is merged, as a server's totals are believed together.
func (p *Flusher) mergeAll(f window.Flush, first int) {
	p.checkTotals(f, p.ops[first:])
	p.failing = false
	for n := range p.dues {
		if n%window.PrefetchDues == 0 {
			window.Prefetch(p.soon(n))
		}
		p.merge(f, &p.dues[n], &p.ops[first+n])
	}
}

// merge merges the answer to a due.
func (p *Flusher) merge(f window.Flush, d *window.Due, op *ring.Op) {
	if op.Err != nil {
		if !d.Hint() {
			p.failed.Add(1)
		}
		// the view of a key is lost only by flushes that fail
		if p.hurries || d.Hint() || errors.Is(op.Err, ring.ErrLate) {
			d.Late()
		} else {
			p.failing = true
		}
		p.gate.Unsent(d, f.Now, op.Server, op.Sent)
		return
	}
	if p.quarantines[op.Server].at(f.Now) {
		p.gate.Unsent(d, f.Now, op.Server, true)
		return
	}
	p.gate.Merge(f, d, op.Total, op.Server)
}
