package edge

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// world is what a node tells of the keys that all PoPs count, and hears of them. What is told belongs to the flusher.
//
//	PoP.Flush, or FlushAlone ─► measure ─► tell ─► report ─► (the council) ─► Advise ─► the slot's log, the flag table
type world struct {
	edge   *Edge
	every  time.Duration
	report func(now window.Instant, all []mitigation.Measured)
	lifted func(rule string, key []byte) // nil: nobody wants to know

	measured []mitigation.Measured
	dues     []window.Due
	keys     []byte

	source    WorldSource // for people
	connected atomic.Bool // other PoPs are heard, or there are none to be heard
	lost      atomic.Bool // none has been heard for so long that the failure modes act
}

// on reports whether there is a world to tell.
func (w *world) on() bool { return w != nil && w.report != nil }

// JoinWorld makes e tell report what it counts of global rules, after every flush, from the flusher's goroutine. e must have been
// made from a configuration with gossip, and must not be running yet. What comes of it is handed to Advise.
func (e *Edge) JoinWorld(report func(now window.Instant, all []mitigation.Measured)) {
	e.world.report = report
}

// OnLift has lifted called whenever a key's flag is lifted by hand, here or at another node: what convicted it before is not
// to convict it again. It must not wait, nor call Edge.
func (e *Edge) OnLift(lifted func(rule string, key []byte)) { e.world.lifted = lifted }

// SetWorld says whether other PoPs are heard, or are known to be none, and whether that has been missing for so long that
// the failure modes of global rules act.
func (e *Edge) SetWorld(connected, lost bool) {
	e.world.connected.Store(connected)
	e.world.lost.Store(lost)
}

// RunAlone tells what this node counts while it has no ring, until ctx ends.
func (e *Edge) RunAlone(ctx context.Context) {
	tick := time.NewTicker(e.world.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := time.Now()
			e.FlushAlone(e.clock.At(now), now)
		}
	}
}

// FlushAlone tells what this node counted since it last did, of which nobody in its PoP hears: it is for a node without a
// ring, and for one goroutine. wall is what the wall clock calls now.
func (e *Edge) FlushAlone(now window.Instant, wall time.Time) {
	w := e.world
	f := window.Flush{
		Now: now, Wall: time.Duration(wall.UnixNano() - int64(now)), Every: w.every, Nodes: 1, Room: flushRoom,
		Down: func(int) bool { return true }, Alone: true, Solo: true,
	}
	w.dues, w.keys = e.counter.Collect(f, w.dues[:0], w.keys[:0])
	for n := range w.dues {
		w.alone(f, &w.dues[n])
	}
	w.tell(now)
}

// alone takes in what nobody else of the PoP hears.
func (w *world) alone(f window.Flush, d *window.Due) {
	standing, ok := w.edge.counter.Alone(f, d)
	if r := w.edge.rules.Load().byName[d.Rule]; ok && r != nil && r.world {
		w.measure(f.Now, r, d, standing, true)
	}
}

// measure notes how a key stands, to be told.
func (w *world) measure(now window.Instant, r *rule, d *window.Due, s window.Standing, alone bool) {
	if !w.on() {
		return
	}
	m := mitigation.Measured{
		Rule: r.Name, Key: d.Key, Index: d.Index(), Since: s.Since, Alone: alone,
		Demand: mitigation.Demand{Rate: s.Rate, Admitted: s.Admitted, Over: s.Over, Totals: s.Told}, Offered: s.Offered,
	}
	if is := w.edge.flags.Get(now, d.Index()); is.Live() && is.Action == mitigation.Block {
		m.Demand.Blocked = is.Until.Sub(now)
	}
	w.measured = append(w.measured, m)
}

// tell hands on what was measured.
func (w *world) tell(now window.Instant) {
	if !w.on() {
		return
	}
	w.report(now, w.measured)
	w.measured = w.measured[:0]
}

// Advise does to a key what all PoPs together come to: what others did counts as if it had been done here, and a ratio or a
// block goes into the flag table. A key whose counts are within its limit is not shed.
func (e *Edge) Advise(now window.Instant, a mitigation.Advice) {
	r := e.rules.Load().byName[a.Rule]
	if r == nil || !r.world || r.meter.Index(a.Key) != a.Index {
		return
	}
	if len(a.Heard) > 0 {
		r.meter.HearAfar(now, time.Duration(e.steps.offset.Load()), a.Index, a.Heard)
	}
	f := mitigation.Flag{
		Index: a.Index, Rule: r.Name, Key: a.Key, Action: r.Action, Source: mitigation.Gossip, Origin: a.From, Since: now,
	}
	switch {
	case r.Action == mitigation.Block && a.View.Blocked > 0:
		f.Until = now.Add(min(a.View.Blocked, r.BlockFor))
		if is := e.flags.Get(now, a.Index); is.Live() && is.Action == mitigation.Block && is.Until >= f.Until.Add(-time.Second) {
			return
		}
	case r.Action == mitigation.Shed:
		f.Ratio, f.Until = a.Ratio, a.Until
		if f.Ratio > 0 {
			f.Ratio = mitigation.ByCount(&r.Rule, f.Ratio, r.meter.Offered(now, a.Index), a.Unheard, e.world.every)
		}
		if is := e.flags.Get(now, a.Index); f.Ratio == 0 && (!is.Live() || is.Ratio == 0) {
			return
		}
	default:
		return
	}
	e.flags.Put(now, f)
}
