package gate

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// Global connects the gate to the other PoPs. Each function may be nil. None may wait, and none but
// Report may call the gate: Report may call Apply.
type Global struct {
	// Report receives, after every flush and from the flusher's goroutine, the samples of the keys
	// of global rules counted here. Samples are valid until Report returns. Advice comes back
	// through Apply.
	Report func(now window.Instant, all []control.Sample)
	// UsedUp returns a rule's window.Limit.UsedUp, nil for none.
	UsedUp func(r mitigation.Rule) func(now window.Instant, key []byte) (until window.Instant)
	// Publish receives every override given at this node, encoded for MergeOverride of other nodes.
	Publish func(record []byte)
	// Peers reports whether there is another node to publish to now.
	Peers func() bool
	// Lifted receives each key whose flag an operator lifted, here or at another node, so the
	// counts from before the lift do not convict the key again.
	Lifted func(rule string, key []byte)
	// Snapshot returns which part of a key's log other PoPs counted, for a snapshot of the gate.
	// MergeCounts calls read once, and merges no counts of the key until read returns.
	Snapshot func(rule string, key []byte, read func()) control.Snapshot
	// Restore takes back the Snapshot of a key whose slot was made at since.
	Restore func(since window.Instant, rule string, key []byte, s control.Snapshot)
}

// global is the gate's side of the control loop over all PoPs. samples, dues and keys belong to the
// goroutine of the flusher.
//
//	the PoP's flusher, or FlushAlone ─► sample ─► Report ─► (coordinator) ─► Apply
//	  ─► slot, flag table
type global struct {
	Global
	gate  *Gate
	every time.Duration // interval between two flushes

	samples []control.Sample // since the last Report
	dues    []window.Due     // memory for FlushAlone
	keys    []byte           // memory for FlushAlone

	connected atomic.Bool // other PoPs answer and are trusted, or there are none
	lost      atomic.Bool // not connected for so long the failure modes act
}

// on reports whether samples of global rules are wanted. l may be nil.
func (l *global) on() bool { return l != nil && l.Report != nil }

// GlobalState returns the state last given to SetGlobalState, and whether the gate was made with
// Global at all; without, all three are false.
func (g *Gate) GlobalState() (connected, lost, gossips bool) {
	if g.global == nil {
		return false, false, false
	}
	return g.global.connected.Load(), g.global.lost.Load(), true
}

// RatioByCount returns ratio applied by this node to a key of rule r. offered is the cost offered
// in the trailing window, by all nodes as far as this one has counted or merged it; unheard is
// further cost known only as a rate. In count mode the result is 0 while offered is within the
// limit; in rate mode it is ratio. It panics on a gate made without Global.
func (g *Gate) RatioByCount(
	r *mitigation.Rule, ratio mitigation.Ratio, offered, unheard int64,
) mitigation.Ratio {
	return control.ByCount(r, ratio, offered, unheard, g.global.every)
}

// SetGlobalState records the state of the connection to other PoPs. connected: they answer and are
// trusted, or there are none. lost: connected has been false for so long the failure modes of
// global rules act. It panics on a gate made without Global.
func (g *Gate) SetGlobalState(connected, lost bool) {
	g.global.connected.Store(connected)
	g.global.lost.Store(lost)
}

// RunAlone calls FlushAlone once in every flush interval until ctx ends. In place of the flusher on
// a node without a ring, and panics on a gate made without Global.
func (g *Gate) RunAlone(ctx context.Context) {
	Every(ctx, g.global.every, func(time.Time) {
		now := time.Now()
		g.FlushAlone(g.clock.At(now), now)
	})
}

// FlushAlone reports the cost this node counted since the last call, as this node's alone. For a
// node without a ring, and a single goroutine. wall is the reading of the wall clock at now.
func (g *Gate) FlushAlone(now window.Instant, wall time.Time) {
	l := g.global
	g.offsets.Apply(g.offsets.World())
	f := window.Flush{
		Now: now, Wall: time.Duration(wall.UnixNano()-int64(now)) - g.offsets.Applied(),
		Interval: l.every,
		Nodes:    1, Room: FlushRoom,
		Down: func(int) bool { return true }, Alone: true, Solo: true,
	}
	l.dues, l.keys = g.counter.Collect(f, l.dues[:0], l.keys[:0])
	for n := range l.dues {
		g.MergeAlone(f, &l.dues[n])
	}
	g.Report(now)
}

// Offsets returns the offsets of this node's wall clock.
func (g *Gate) Offsets() *health.Offsets { return &g.offsets }

// sample adds the state of a key to the samples of the next Report. alone: the state covers this
// node only, not the PoP.
func (l *global) sample(now window.Instant, r *rule, d *window.Due, s window.Standing, alone bool) {
	if !l.on() {
		return
	}
	m := control.Sample{
		Rule: r.far, Key: d.Key, Index: d.Index(), Since: s.Since, Alone: alone, Own: s.Own,
		Told: s.Told, ToldFrom: s.ToldFrom,
		Report:  control.Report{Rate: s.Rate, Admitted: s.Admitted, Over: s.Over, Totals: s.Totals},
		Offered: s.Offered,
	}
	if is := l.gate.flags.Get(now, d.Index()); is.Live() && is.Action == mitigation.Block {
		m.Report.Blocked = is.Until.Sub(now)
	}
	l.samples = append(l.samples, m)
}

// Reports reports whether the gate hands samples of global rules to anybody. The flusher then
// collects their keys even while their server is down.
func (g *Gate) Reports() bool { return g.global.on() }

// Report hands the samples since the last call to Global.Report. For the goroutine of the flusher.
func (g *Gate) Report(now window.Instant) {
	l := g.global
	if !l.on() {
		return
	}
	l.Report(now, l.samples)
	l.samples = l.samples[:0]
}

// Apply puts the coordinator's advice on a key into effect. Cost offered and admitted by other PoPs
// counts as if here; a drop ratio or a block goes into the flag table, the block for at most the
// longest of the rule. In count mode a key within the limit by counts is not shed. Advice on a rule
// without scope global, or with the index of another key, has no effect.
func (g *Gate) Apply(now window.Instant, a control.Advice) {
	name, _ := nearName(a.Rule)
	r := g.rules.Load().byName[name].of(now, a.Key)
	// with another number by now the advice is no longer about the key
	if r == nil || !r.global || r.far != a.Rule || r.meter.Index(a.Key) != a.Index {
		return
	}
	if len(a.Remote) > 0 {
		wall := time.Duration(g.steps.Offset()) - g.offsets.Applied()
		r.meter.MergeRemote(now, wall, a.Index, a.Since, a.Remote)
	}
	f := mitigation.Flag{
		Index: a.Index, Rule: r.Name, Key: a.Key, Action: r.Action, Source: mitigation.Gossip,
		Origin: a.From, Since: now,
	}
	switch {
	case r.Action == mitigation.Block && a.View.Blocked > 0:
		f.Until = now.Add(min(a.View.Blocked, r.LongestBlock()))
		if is := g.flags.Get(now, a.Index); is.Live() && is.Action == mitigation.Block &&
			is.Until >= f.Until.Add(-time.Second) {
			return
		}
		g.flags.PutBlock(now, f, &r.Rule)
		return
	case r.Action == mitigation.Shed:
		f.Ratio, f.Until = a.Ratio, a.Until
		if f.Ratio > 0 {
			f.Ratio = g.RatioByCount(&r.Rule, f.Ratio, r.meter.Offered(now, a.Index), a.RateOnly)
		}
		if is := g.flags.Get(now, a.Index); f.Ratio == 0 && (!is.Live() || is.Ratio == 0) {
			return
		}
	default:
		return
	}
	g.flags.Put(now, f)
}
