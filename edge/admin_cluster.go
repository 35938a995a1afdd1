package edge

import (
	"net/http"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// ClusterView is the answer of /v1/cluster.
type ClusterView struct {
	Node   string      `json:"node"`
	PoP    string      `json:"pop"`
	View   string      `json:"view"`   // node, pop or global: the widest that this node knows
	Ring   *RingView   `json:"ring"`   // null: this node is its PoP
	Gossip *GossipView `json:"gossip"` // null: no gossip
}

// RingView is how the node stands with the others of its PoP. Counts are since start.
type RingView struct {
	Fingerprint      string           `json:"fingerprint"` // of the servers; nodes that share show the same
	Flush            float64          `json:"flush"`       // seconds between two flushes
	Nodes            int              `json:"nodes"`       // that beat of late, this one included
	Clock            ClockView        `json:"clock"`
	Servers          []RingServerView `json:"servers"`
	Flushes          uint64           `json:"flushes"`
	LastFlushSeconds float64          `json:"last_flush_seconds"` // that the last one took
	Failed           uint64           `json:"failed"`             // exchanges of a key that came to nothing
	Implausible      uint64           `json:"implausible"`        // totals that were not believed
	DroppedCost      uint64           `json:"dropped_cost"`       // that the others never heard of
	Deferred         uint64           `json:"deferred"`           // times that a key had to wait a flush
}

// ClockView is what is known of the node's clock beside the others'.
type ClockView struct {
	State       string  `json:"state"`        // agreed, comparing, apart
	SkewSeconds float64 `json:"skew_seconds"` // while apart, how far this node's clock is ahead; negative: behind
}

// RingServerView is how the node stands with one server of the ring. Counts are since start.
type RingServerView struct {
	Address        string            `json:"address"`
	Weight         int               `json:"weight"`
	Up             bool              `json:"up"`       // answers of late
	Lost           bool              `json:"lost"`     // silent for so long that the failure modes act
	Protocol       string            `json:"protocol"` // meta or classic; empty: not spoken to yet
	Operations     uint64            `json:"operations"`
	Errors         map[string]uint64 `json:"errors"`   // operations that failed, by kind
	Timeouts       uint64            `json:"timeouts"` // exchanges of many operations
	BreakerOpened  uint64            `json:"breaker_opened"`
	LastSuccessAge *float64          `json:"last_success_age"` // seconds; null: never
	LastError      string            `json:"last_error"`       // printable ASCII; empty: none yet
}

// cluster answers who counts together with this node.
func (a *Admin) cluster(w http.ResponseWriter, r *http.Request) *problem {
	if _, p := adminQuery(r); p != nil {
		return p
	}
	var v ClusterView
	if p := a.listing(r, func() { v = a.edge.viewCluster(a.edge.Now(), a.options.PoP) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, v)
}

func (e *Edge) viewCluster(now window.Instant, pop string) ClusterView {
	v := ClusterView{Node: e.Node(), PoP: pop, View: mitigation.Node.String(), Ring: e.viewRing(now), Gossip: e.viewGossip()}
	switch {
	case v.Gossip != nil && v.Gossip.Connected:
		v.View = mitigation.Global.String()
	case e.popReached():
		v.View = mitigation.PoP.String()
	}
	return v
}

// viewRing shows the PoP; nil without a ring.
func (e *Edge) viewRing(now window.Instant) *RingView {
	p, ok := e.popStats(now)
	if !ok {
		return nil
	}
	s := e.Stats(now)
	v := &RingView{
		Fingerprint: p.Fingerprint, Flush: p.Every.Seconds(), Nodes: p.Nodes,
		Clock:   ClockView{State: p.Clock.String(), SkewSeconds: p.Skew.Seconds()},
		Servers: make([]RingServerView, len(p.Servers)),
		Flushes: p.Flushes, LastFlushSeconds: p.Last.Seconds(), Failed: p.Failed, Implausible: p.Implausible,
		DroppedCost: s.Dropped, Deferred: s.Deferred,
	}
	for n := range p.Servers {
		v.Servers[n] = e.viewServer(now, &p.Servers[n])
	}
	return v
}

func (e *Edge) viewServer(now window.Instant, s *PoPServer) RingServerView {
	v := RingServerView{
		Address: s.Address, Weight: s.Weight, Up: s.Up, Lost: s.Lost, Protocol: s.Protocol,
		Operations: s.Ops, Errors: make(map[string]uint64, len(s.Errors)), Timeouts: s.Timeouts, BreakerOpened: s.Opened,
		LastError: s.LastError,
	}
	for kind, n := range s.Errors {
		v.Errors[ring.Kind(kind).String()] = n
	}
	if !s.LastSuccess.IsZero() {
		age := max(0, now.Sub(e.clock.At(s.LastSuccess))).Seconds()
		v.LastSuccessAge = &age
	}
	return v
}
