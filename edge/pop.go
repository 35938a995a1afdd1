package edge

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Tally adds up for all nodes of a PoP: a *ring.Ring, or what stands in for one in a test.
type Tally interface {
	// Do answers every op, and returns within tens of milliseconds whatever its servers do.
	Do(ctx context.Context, ops []ring.Op)
	// Up reports whether the server answers of late.
	Up(server int) bool
}

// PoPOptions is what a node needs to count together with the other nodes of its PoP.
type PoPOptions struct {
	Tally     Tally
	Placement *ring.Placement // which counter lives on which server
	Secret    []byte          // that makes the counters' names; the same on all nodes
	Every     time.Duration   // between two flushes
}

// flushRoom is the most exchanges of one flush; what does not fit waits, the smallest first.
const flushRoom = 20_000

// PoP is the flusher: one goroutine that tells the ring what this node counted and takes in what the others
// did. Nothing on the decision path waits for it.
//
//	counter.Collect ─► []Due ─► []ring.Op ─► Tally.Do ─► counter.Learn ─► Standing ─► Pace ─► flag
type PoP struct {
	edge   *Edge
	o      PoPOptions
	digest *ring.Digester
	rekeys atomic.Pointer[ring.Digester] // takes digest's place before the next flush
	beats  *beats

	doubts  []doubt // by server
	failing bool    // an exchange of this flush came to nothing
	dues    []window.Due
	keys    []byte
	ops     []ring.Op
	alone   []window.Due // keys that the world counts while their server is lost

	flushes, failed, lied atomic.Uint64
	spent                 atomic.Int64 // nanoseconds, all flushes
	last                  atomic.Int64 // nanoseconds, the last flush
}

// Join makes e count its shared rules together with the other nodes of its PoP, once the returned PoP runs. e must have been
// made from a configuration with a ring, and must not be running yet.
func (e *Edge) Join(o PoPOptions) *PoP {
	servers := len(o.Placement.Servers())
	p := &PoP{edge: e, o: o, digest: ring.NewDigester(o.Secret), doubts: make([]doubt, servers)}
	p.beats = newBeats(p, servers)
	e.pop = p
	return p
}

// Run flushes until ctx ends, and once more then, so that what this node admitted last is not lost to the others.
func (p *PoP) Run(ctx context.Context) {
	tick := time.NewTicker(p.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			now := time.Now()
			p.Flush(context.WithoutCancel(ctx), p.edge.clock.At(now), now)
			return
		case <-tick.C:
			now := time.Now() // one reading, or being stopped in between would look like a step of the clock
			p.Flush(ctx, p.edge.clock.At(now), now)
		}
	}
}

// Rekey makes secret the one that the counters' names are made with, from the next flush on. The counters of before are not
// found any more, as if the servers had forgotten them. It may be called concurrently.
func (p *PoP) Rekey(secret []byte) { p.rekeys.Store(ring.NewDigester(secret)) }

// Flush is one exchange with the ring at now, which the wall clock calls wall. It is for one goroutine.
func (p *PoP) Flush(ctx context.Context, now window.Instant, wall time.Time) {
	began := time.Now()
	f := window.Flush{
		Now: now, Wall: time.Duration(wall.UnixNano() - int64(now)), Every: p.o.Every, Room: flushRoom,
		Alone: p.edge.world.on(),
		Nodes: p.beats.nodes(), Down: func(server int) bool { return !p.o.Tally.Up(server) || p.doubts[server].at(now) },
	}
	if next := p.rekeys.Swap(nil); next != nil {
		p.digest = next
	}
	p.beats.stepped(now, f.Wall, wall)
	p.ops = p.beats.ask(p.ops[:0], wall)
	own := len(p.ops)
	p.dues = p.dues[:0]
	if p.beats.joined {
		p.dues, p.keys = p.edge.counter.Collect(f, p.dues, p.keys[:0])
	}
	p.part()
	p.address()
	p.o.Tally.Do(ctx, p.ops)
	p.hear(now)
	p.beats.learn(p.ops[:own], wall)
	p.edge.reach.apart.Store(p.beats.apart.Load())
	p.edge.reach.shy.Store(!p.beats.joined)
	p.doubt(f, p.ops[own:])
	p.failing = false
	for n := range p.dues {
		p.learn(f, &p.dues[n], &p.ops[own+n])
	}
	for n := range p.alone {
		p.edge.world.alone(f, &p.alone[n])
	}
	p.edge.world.tell(now)
	p.edge.reach.fails.Store(p.failing)
	p.flushes.Add(1)
	took := int64(time.Since(began))
	p.spent.Add(took)
	p.last.Store(took)
}

// part sets aside what is not for the ring.
func (p *PoP) part() {
	p.alone = p.alone[:0]
	kept := p.dues[:0]
	for n := range p.dues {
		if p.dues[n].Alone() {
			p.alone = append(p.alone, p.dues[n])
			continue
		}
		kept = append(kept, p.dues[n])
	}
	p.dues = kept
}

// address turns what is due into operations on counters.
func (p *PoP) address() {
	for n := range p.dues {
		d := &p.dues[n]
		op := ring.Op{Delta: d.Delta, TTL: uint32(d.Life / time.Second)} // at most two days
		p.digest.Key(&op.Key, ring.Counter{
			Rule: d.Rule, Variant: d.Variant, Window: d.Window, Client: d.Key, Period: uint64(d.Period),
		})
		op.Server = p.o.Placement.Pick(op.Key[:])
		p.ops = append(p.ops, op)
	}
}

// hear notes which servers answered, and are believed.
func (p *PoP) hear(now window.Instant) {
	for n := range p.ops {
		if p.ops[n].Err == nil && !p.doubts[p.ops[n].Server].at(now) {
			p.edge.reach.hear(p.ops[n].Server, now)
		}
	}
}

// learn takes in the answer to one exchange.
func (p *PoP) learn(f window.Flush, d *window.Due, op *ring.Op) {
	if op.Err != nil {
		p.failed.Add(1)
		if errors.Is(op.Err, ring.ErrLate) {
			d.Late()
		} else {
			p.failing = true
		}
		p.edge.counter.Unsent(d, f.Now, op.Server, op.Sent)
		return
	}
	if p.doubts[op.Server].at(f.Now) {
		p.edge.counter.Unsent(d, f.Now, op.Server, true)
		return
	}
	if standing, ok := p.edge.counter.Learn(f, d, op.Total, op.Server); ok {
		p.pace(f.Now, d, standing)
	}
}

// doubt looks for totals that cannot be true, before any of the same server is believed.
func (p *PoP) doubt(f window.Flush, ops []ring.Op) {
	for n := range p.dues {
		if op := &ops[n]; op.Err == nil && !p.edge.counter.Plausible(f, &p.dues[n], op.Total) {
			p.lied.Add(1)
			p.doubts[op.Server].lied(f.Now)
		}
	}
}

// pace sheds d's key if it is over its limit by what all nodes counted, and ends that as soon as it is not.
func (p *PoP) pace(now window.Instant, d *window.Due, s window.Standing) {
	r := p.edge.rules.Load().byName[d.Rule]
	if r != nil && r.world {
		p.edge.world.measure(now, r, d, s, false)
		if p.edge.world.connected.Load() {
			return // what is to be done comes from there
		}
	}
	if r == nil || r.Action != mitigation.Shed {
		return
	}
	pace := mitigation.PaceFor(&r.Rule, p.o.Every)
	ratio := pace.Ratio(s.Offered, s.Rate, s.Debt)
	if is := p.edge.flags.Get(now, d.Index()); ratio == 0 && (!is.Live() || is.Ratio == 0) {
		return
	}
	p.edge.flags.Put(now, mitigation.Flag{
		Index: d.Index(), Rule: r.Name, Key: d.Key, Action: mitigation.Shed, Ratio: ratio, Source: mitigation.Ring,
		Since: now, Until: now.Add(pace.Pay),
	})
}

const (
	// manyLies within doubtWithin and a server is left alone for doubtFor: it may be anybody's.
	manyLies    = 3
	doubtWithin = time.Second
	doubtFor    = 10 * time.Second
)

// doubt is how far a server is believed. It belongs to the flusher but for what is atomic.
type doubt struct {
	lies  int
	since window.Instant // of the first of them
	until atomic.Int64   // Instant before which it is not believed
}

func (d *doubt) at(now window.Instant) bool { return int64(now) < d.until.Load() }

// lied notes a total that cannot be true.
func (d *doubt) lied(now window.Instant) {
	if now.Sub(d.since) > doubtWithin {
		d.lies, d.since = 0, now
	}
	if d.lies++; d.lies >= manyLies {
		d.until.Store(int64(now.Add(doubtFor)))
	}
}
