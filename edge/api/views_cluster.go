package api

// ClusterView is the answer of /v1/cluster.
type ClusterView struct {
	Node   string      `json:"node"`
	PoP    string      `json:"pop"`
	View   string      `json:"view"`   // node, pop or global: the widest this node knows
	Ring   *RingView   `json:"ring"`   // null: this node is its PoP
	Gossip *GossipView `json:"gossip"` // null: no gossip
}

// RingView is the state of the node's connection to the other nodes of the PoP. Counts are since
// start.
type RingView struct {
	// of the servers; nodes sharing show the same
	Fingerprint string  `json:"fingerprint"`
	Flush       float64 `json:"flush"` // seconds between two flushes
	// with a recent heartbeat, this node included
	Nodes            int              `json:"nodes"`
	Clock            ClockView        `json:"clock"`
	Servers          []RingServerView `json:"servers"`
	Flushes          uint64           `json:"flushes"`
	LastFlushSeconds float64          `json:"last_flush_seconds"` // duration of the last flush
	Failed           uint64           `json:"failed"`             // exchanges of a key that failed
	// impossible totals, ignored
	Implausible uint64 `json:"implausible"`
	// cost never known to the other nodes
	DroppedCost uint64 `json:"dropped_cost"`
	// keys kept waiting for another flush
	Deferred uint64 `json:"deferred"`
}

// ClockView compares the clock of the node with the clocks of the others.
type ClockView struct {
	State string `json:"state"` // agreed, comparing, apart
	// how far this node's wall clock is ahead of the PoP's clock; negative: behind. Up to a minute
	// is corrected
	OffsetSeconds float64 `json:"offset_seconds"`
	// the same in whole seconds while apart, else 0
	SkewSeconds float64 `json:"skew_seconds"`
}

// RingServerView is the state of a server of the ring, as the node sees it. Counts are since start.
// Its numbers only grow, so whoever asks twice can take differences.
type RingServerView struct {
	Address string `json:"address"`
	Weight  int    `json:"weight"`
	Up      bool   `json:"up"` // has answered recently
	// silent for long enough for failure modes
	Lost           bool              `json:"lost"`
	Protocol       string            `json:"protocol"` // meta or classic; empty: not connected yet
	Operations     uint64            `json:"operations"`
	Errors         map[string]uint64 `json:"errors"`   // operations that failed, by kind
	Timeouts       uint64            `json:"timeouts"` // exchanges of many operations
	BreakerOpened  uint64            `json:"breaker_opened"`
	LastSuccessAge *float64          `json:"last_success_age"` // seconds; null: never
	LastError      string            `json:"last_error"`       // printable ASCII; empty: none yet
}
