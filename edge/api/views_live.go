package api

import (
	"time"
)

// The JSON shapes of GET /v1/events and GET /v1/history, as in views.go.

// The names of the events of GET /v1/events, each with a type of data.
const (
	EventHello       = "hello"        // HelloView, first of all
	EventFlagSet     = "flag-set"     // MitigationView
	EventFlagChanged = "flag-changed" // MitigationView
	EventFlagCleared = "flag-cleared" // MitigationView, as the flag was
	EventLimitSet    = "limit-set"    // LimitView; Before: by hand, else 0
	EventLimitUnset  = "limit-unset"  // LimitView, as the limit was
	EventLimitEnded  = "limit-ended"  // likewise
	EventMode        = "mode"         // ModeView
	EventSurge       = "surge"        // SurgeEvent
	EventLost        = "lost"         // LostView
	EventLive        = "live"         // LiveView, if the request says live=1
)

// HelloView identifies the node of the stream.
type HelloView struct {
	Node    string `json:"node"`
	PoP     string `json:"pop"`
	Version string `json:"version"`
}

// ModeView is the mode of a rule or of a policy, after a change.
type ModeView struct {
	Rule   string `json:"rule,omitempty"`
	Policy string `json:"policy,omitempty"` // in place of Rule
	Mode   string `json:"mode"`             // enforce, shadow or off
}

// LostView reports a gap in a stream.
type LostView struct {
	// number of events without room for the send, since the last sent
	Events uint64 `json:"events"`
}

// FaultView is a fault of a node, as GET /v1/health lists.
type FaultView struct {
	Code   string    `json:"code"`   // ring, gossip, reload, no-reports and so on
	Text   string    `json:"text"`   // in words
	Policy string    `json:"policy"` // it is about; empty: none
	Rule   string    `json:"rule"`   // likewise
	Since  time.Time `json:"since"`  // when it was seen first
}

// HealthView is the answer of /v1/health.
type HealthView struct {
	Ready  bool        `json:"ready"`  // to decide
	Status string      `json:"status"` // as /readyz answers
	Faults []FaultView `json:"faults"`
}

// LiveView is a picture of a node. It is made once a second, and every viewer receives the same
// one.
// Only what the page shows: a viewer receives it each second.
type LiveView struct {
	Now      time.Time      `json:"now"`
	Started  time.Time      `json:"started"`  // of the node
	Degraded []string       `json:"degraded"` // present faults, in words; empty: none
	Doors    []DoorView     `json:"doors"`    // the decision listeners, by protocol
	Rules    []LiveRuleView `json:"rules"`    // in configuration order
	Policies []PolicyView   `json:"policies"` // the first 100, in the order of the file
	Pools    []PoolView     `json:"pools"`    // as /v1/pools answers
	// requests waiting for the report of their response
	Tickets uint64         `json:"tickets"`
	Flags   FlagCountsView `json:"flags"`
	// the first 100: by cost denied a second; then by hand, blocks, the newest
	Mitigations []MitigationView `json:"mitigations"`
	Top         []TopView        `json:"top"`      // the 20 heaviest keys of all rules
	Sketches    []SketchView     `json:"sketches"` // one for each window length
	Cluster     ClusterView      `json:"cluster"`  // as /v1/cluster answers
	Viewers     int              `json:"viewers"`  // streams that are open, this one included
}

// LiveRuleView is a rule with the number of keys.
type LiveRuleView struct {
	RuleView
	Suspects int `json:"suspects"` // keys counted exactly, because they came near their limits
	Flags    int `json:"flags"`    // keys flagged
	Allowed  int `json:"allowed"`  // of Flags: those that an operator exempted from the limit
}

// DoorView is the state of the decision listeners of a protocol. Counts are since start.
type DoorView struct {
	Protocol    string   `json:"protocol"`     // udp, http, grpc, spop or resp
	Addresses   []string `json:"addresses"`    // host:port, or unix:/path
	Asked       uint64   `json:"asked"`        // udp: request lines; http: connections served
	UnknownRule uint64   `json:"unknown_rule"` // requests that named a rule that is not in force
}

// FlagCountsView counts the live flags by action.
type FlagCountsView struct {
	Total int `json:"total"`
	Shed  int `json:"shed"`
	Block int `json:"block"`
	Allow int `json:"allow"`
}

// SketchView is the state of the sketch of a window length. The unit is 1/1020 of a rule's limit,
// rounded up to whole cost.
type SketchView struct {
	Window float64 `json:"window"` // seconds
	// units; an estimate is too high by more than this with probability 1.8 % at most
	ErrorBound float64 `json:"error_bound"`
	NoiseFloor float64 `json:"noise_floor"` // units; median estimate of a key that was never seen
	Fill       float64 `json:"fill"`        // share of cells that are not zero, 0..1
	Saturated  bool    `json:"saturated"`   // so noisy that nearly idle keys are counted exactly
}

// HistoryView is the answer of /v1/history: the rates of the last 15 minutes, 1 hour or 6 hours, in
// at most 180 steps. The steps are the same for all rules, so their moments are sent once.
type HistoryView struct {
	Range  string            `json:"range"`  // 15m, 1h or 6h
	Every  int               `json:"every"`  // seconds from a point to the next
	Points []int64           `json:"points"` // Unix seconds at which each step ended, oldest first
	Rules  []HistoryRuleView `json:"rules"`
}

// HistoryRuleView is the cost a second of a rule in each step; null: not sampled.
type HistoryRuleView struct {
	Name         string `json:"name"`
	Offered      Rates  `json:"offered"`
	Admitted     Rates  `json:"admitted"`
	Denied       Rates  `json:"denied"`
	ShadowDenied Rates  `json:"shadow_denied"`
}
