package api

// ClusterView is the answer of /v1/cluster.
type ClusterView struct {
	Node   string      `json:"node"`
	PoP    string      `json:"pop"`
	View   string      `json:"view"`   // node, pop or global: the widest that this node knows
	Ring   *RingView   `json:"ring"`   // null: this node is its PoP
	Gossip *GossipView `json:"gossip"` // null: no gossip
}

// RingView is the state of the node's connection to the other nodes of its PoP. Counts are since
// start.
type RingView struct {
	Fingerprint      string           `json:"fingerprint"` // of the servers; nodes that share show the same
	Flush            float64          `json:"flush"`       // seconds between two flushes
	Nodes            int              `json:"nodes"`       // with a recent heartbeat, this one included
	Clock            ClockView        `json:"clock"`
	Servers          []RingServerView `json:"servers"`
	Flushes          uint64           `json:"flushes"`
	LastFlushSeconds float64          `json:"last_flush_seconds"` // duration of the last flush
	Failed           uint64           `json:"failed"`             // exchanges of a key that failed
	Implausible      uint64           `json:"implausible"`        // totals that cannot be true and were ignored
	DroppedCost      uint64           `json:"dropped_cost"`       // cost that never reached the other nodes
	Deferred         uint64           `json:"deferred"`           // keys that had to wait for another flush
}

// ClockView compares the clock of the node with the clocks of the others.
type ClockView struct {
	State       string  `json:"state"`        // agreed, comparing, apart
	SkewSeconds float64 `json:"skew_seconds"` // while apart, how far this node's clock is ahead; negative: behind
}

// RingServerView is the state of one server of the ring, as the node sees it. Counts are since
// start.
// Its numbers only grow, so that whoever asks twice can take differences.
type RingServerView struct {
	Address        string            `json:"address"`
	Weight         int               `json:"weight"`
	Up             bool              `json:"up"`       // has answered recently
	Lost           bool              `json:"lost"`     // silent for so long that failure modes apply
	Protocol       string            `json:"protocol"` // meta or classic; empty: not connected yet
	Operations     uint64            `json:"operations"`
	Errors         map[string]uint64 `json:"errors"`   // operations that failed, by kind
	Timeouts       uint64            `json:"timeouts"` // exchanges of many operations
	BreakerOpened  uint64            `json:"breaker_opened"`
	LastSuccessAge *float64          `json:"last_success_age"` // seconds; null: never
	LastError      string            `json:"last_error"`       // printable ASCII; empty: none yet
}
