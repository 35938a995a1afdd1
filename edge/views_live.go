package edge

import (
	"time"

	"github.com/headgate-dev/headgate/edge/live"
)

// The JSON shapes of GET /v1/events and GET /v1/history, as in views.go.

// The names of the events of GET /v1/events, and what their data is.
const (
	EventHello       = "hello"        // HelloView, first of all
	EventFlagSet     = "flag-set"     // MitigationView
	EventFlagChanged = "flag-changed" // MitigationView
	EventFlagCleared = "flag-cleared" // MitigationView, as the flag was
	EventLost        = "lost"         // LostView
	EventLive        = "live"         // LiveView, for those who ask with live=1
)

// HelloView says whose stream it is.
type HelloView struct {
	Node    string `json:"node"`
	PoP     string `json:"pop"`
	Version string `json:"version"`
}

// LostView says that something is missing from a stream.
type LostView struct {
	Events uint64 `json:"events"` // that were not sent for want of room, since the last one that was
}

// LiveView is how a node stands, once a second and the same for all who look.
type LiveView struct {
	Now         time.Time        `json:"now"`
	Degraded    []string         `json:"degraded"` // what is not as it should be, in words; empty: nothing
	Rules       []LiveRuleView   `json:"rules"`    // in configuration order
	Flags       FlagCountsView   `json:"flags"`
	Mitigations []MitigationView `json:"mitigations"` // the first 100: by hand first, then blocks; the newest first
	Top         []TopView        `json:"top"`         // the 20 heaviest keys of all rules
	Sketches    []SketchView     `json:"sketches"`    // one for each window length
	Cluster     ClusterView      `json:"cluster"`     // as /v1/cluster answers
	Viewers     int              `json:"viewers"`     // streams that are open, this one included
}

// LiveRuleView is a rule, and how many keys it has in hand.
type LiveRuleView struct {
	RuleView
	Suspects int `json:"suspects"` // keys counted exactly
	Flags    int `json:"flags"`    // keys flagged
}

// FlagCountsView counts the live flags, by what they do.
type FlagCountsView struct {
	Total int `json:"total"`
	Shed  int `json:"shed"`
	Block int `json:"block"`
	Allow int `json:"allow"`
}

// SketchView is how the sketch of one window length stands. Its unit is a rule's limit/1020, rounded up.
type SketchView struct {
	Window     float64 `json:"window"`      // seconds
	ErrorBound float64 `json:"error_bound"` // units that an estimate is over with probability 1.8 % at most
	NoiseFloor float64 `json:"noise_floor"` // units that a key never seen reads (median)
	Fill       float64 `json:"fill"`        // share of cells that count something, 0..1
	Saturated  bool    `json:"saturated"`   // so noisy that keys are counted exactly which did little
}

// HistoryView is the answer of /v1/history: what was asked for over the last 15 minutes.
type HistoryView struct {
	Every  int               `json:"every"`  // seconds from one point to the next
	Points []int64           `json:"points"` // Unix seconds at which each step ended, oldest first
	Rules  []HistoryRuleView `json:"rules"`
}

// HistoryRuleView is one rule's cost a second in each step; null: nothing was sampled.
type HistoryRuleView struct {
	Name         string     `json:"name"`
	Offered      live.Rates `json:"offered"`
	Admitted     live.Rates `json:"admitted"`
	Denied       live.Rates `json:"denied"`
	ShadowDenied live.Rates `json:"shadow_denied"`
}
