package admin

import (
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// cluster answers GET /v1/cluster: the nodes and PoPs counting together with this node. A listing:
// with many PoPs there is a row for each of a thousand nodes.
func (a *Door) cluster(w http.ResponseWriter, r *http.Request) *api.Problem {
	var v api.ClusterView
	if p := a.listing(r, func() { v = a.live.cluster(a.gate.Now()) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, v)
}

// cluster returns the nodes and PoPs counting together with this node.
func (w *feed) cluster(now window.Instant) api.ClusterView {
	e := w.gate
	v := api.ClusterView{
		Node: e.Node(), PoP: w.options.PoP, View: mitigation.Node.String(),
		Ring: viewRing(e, w.options.Ring, now),
	}
	if w.options.Gossip != nil {
		v.Gossip = w.options.Gossip()
	}
	// The view is the widest scope whose counts this node knows.
	switch {
	// Whether others can be heard, not whether a rule asks.
	case v.Gossip != nil && v.Gossip.Connected:
		v.View = mitigation.Global.String()
	case e.PoPReached():
		v.View = mitigation.PoP.String()
	}
	return v
}

// viewRing returns the state of the exchange within the PoP; nil without a ring. nil and not an
// empty view: a node without a ring has none, instead of a lost ring.
func viewRing(g *gate.Gate, ring func(window.Instant) pop.Stats, now window.Instant) *api.RingView {
	if ring == nil {
		return nil
	}
	p, s := ring(now), g.Stats(now)
	v := &api.RingView{
		Fingerprint: p.Fingerprint, Flush: p.Every.Seconds(), Nodes: p.Nodes,
		Clock: api.ClockView{
			State: p.Clock.String(), SkewSeconds: p.Skew.Seconds(),
			OffsetSeconds: p.Offset.Seconds(),
		},
		Servers: make([]api.RingServerView, len(p.Servers)),
		Flushes: p.Flushes, LastFlushSeconds: p.Last.Seconds(), Failed: p.Failed,
		Implausible: p.Implausible,
		DroppedCost: s.Dropped, Deferred: s.Deferred,
	}
	for n := range p.Servers {
		v.Servers[n] = viewServer(g, now, &p.Servers[n])
	}
	return v
}

// viewServer returns the state of a server of the ring. The age of the last success is nil if there
// was no answer ever.
func viewServer(g *gate.Gate, now window.Instant, s *pop.Server) api.RingServerView {
	v := api.RingServerView{
		Address: s.Address, Weight: s.Weight, Up: s.Up, Lost: s.Lost, Protocol: s.Protocol,
		Operations: s.Ops, Errors: make(map[string]uint64, len(s.Errors)), Timeouts: s.Timeouts,
		BreakerOpened: s.Opened,
		LastError:     s.LastError,
	}
	for kind, n := range s.Errors {
		// All kinds, those without an error too, so a reader sees which there are.
		v.Errors[ring.Kind(kind).String()] = n
	}
	if !s.LastSuccess.IsZero() {
		age := max(0, now.Sub(g.At(s.LastSuccess))).Seconds()
		v.LastSuccessAge = &age
	}
	return v
}
