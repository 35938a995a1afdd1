package edge

import "time"

// The JSON shapes of the admin listener. Times are RFC 3339, windows and ages are seconds, keys are
// shown with every byte outside printable ASCII as \xNN.

// MitigationView is one live flag.
type MitigationView struct {
	Rule    string    `json:"rule"`
	Key     string    `json:"key"`
	Action  string    `json:"action"` // shed, block, allow
	Ratio   float64   `json:"ratio"`  // share of offered cost being refused
	Mode    string    `json:"mode"`   // of the rule: in shadow, ratio is what would be refused
	View    string    `json:"view"`
	Source  string    `json:"source"`         // self, ring, gossip:<pop>, manual:<who>
	Node    string    `json:"node,omitempty"` // where it was set by hand, if not here
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	Offered int64     `json:"offered"` // cost asked for in the trailing window
	Limit   int64     `json:"limit"`
}

// MitigationsView is one page of flags.
type MitigationsView struct {
	Mitigations []MitigationView `json:"mitigations"`
	Total       int              `json:"total"`
	NextCursor  string           `json:"next_cursor,omitempty"`
}

// MitigationRequest sets a flag by hand.
type MitigationRequest struct {
	Rule   string `json:"rule"`
	Key    string `json:"key,omitempty"`
	Shown  string `json:"shown,omitempty"` // the key as it is shown, in place of Key: JSON carries no odd bytes
	Action string `json:"action"`          // block or allow
	TTL    string `json:"ttl"`             // a duration from MinTTL to MaxTTL, such as 10m; empty: DefaultTTL
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"` // who, for the record
}

// TopView is one heavy key.
type TopView struct {
	Rule     string  `json:"rule"`
	Key      string  `json:"key"`
	Offered  int64   `json:"offered"`  // in the trailing window
	Admitted int64   `json:"admitted"` // in the trailing window
	Limit    int64   `json:"limit"`
	Share    float64 `json:"share"` // offered / limit
	State    string  `json:"state"` // ok, shed, block, allow
}

// TopsView is the answer of /v1/top, heaviest first.
type TopsView struct {
	Top []TopView `json:"top"`
}

// SubWindowView is what one sub-window of a key holds in the sketch.
type SubWindowView struct {
	Start    time.Time `json:"start"`
	Estimate int64     `json:"estimate"` // sketch, an upper bound
}

// ExplainView is everything that decides one key now.
type ExplainView struct {
	Rule         string          `json:"rule"`
	Key          string          `json:"key"`
	Now          time.Time       `json:"now"`
	Verdict      string          `json:"verdict"`          // what a check of cost 1 would be answered
	Why          string          `json:"why,omitempty"`    // what refuses, or would were the rule not in shadow
	Shadow       bool            `json:"shadow,omitempty"` // allowed only because the rule is in shadow
	View         string          `json:"view"`
	ViewLost     bool            `json:"view_lost,omitempty"` // less than the scope asks for: failure_mode acts
	Mode         string          `json:"mode"`
	Scope        string          `json:"scope"`
	FailureMode  string          `json:"failure_mode"`
	Limit        int64           `json:"limit"`
	Window       float64         `json:"window"`
	Remaining    int64           `json:"remaining"`
	Reset        uint32          `json:"reset"`
	Retry        uint32          `json:"retry,omitempty"`
	Estimate     int64           `json:"estimate"`    // sketch, cost in the last window, never under until saturated
	ErrorBound   float64         `json:"error_bound"` // with probability confidence the estimate is at most this much over
	Confidence   float64         `json:"confidence"`  // 1 - e^-rows
	NoiseFloor   float64         `json:"noise_floor"` // what an unseen key would read now (median)
	PromoteAt    float64         `json:"promote_at"`  // estimate from which a key becomes a suspect
	Suspect      bool            `json:"suspect"`     // holds an exact slot
	SuspectSince *time.Time      `json:"suspect_since,omitempty"`
	Admitted     int64           `json:"admitted"` // exact, trailing window (suspects)
	Offered      int64           `json:"offered"`  // trailing window
	SubWindows   []SubWindowView `json:"sub_windows"`
	Ring         *KeyRingView    `json:"ring,omitempty"`  // suspects of a rule that the PoP shares
	World        *KeyWorldView   `json:"world,omitempty"` // of a rule that all PoPs share
	Flag         *MitigationView `json:"flag,omitempty"`
	Lifts        string          `json:"lifts"`     // in words: what would let this key through
	Sentences    []string        `json:"sentences"` // why, by whose word, until when, and what would change it, for people to read
}

// KeyRingView is how one key stands between this node and the others of its PoP.
type KeyRingView struct {
	Server      string   `json:"server"`       // that holds its counters; empty: not asked yet
	AgeSeconds  *float64 `json:"age_seconds"`  // of what the ring said last; null: nothing yet
	OfferedRate float64  `json:"offered_rate"` // cost a second asked for at all nodes, as of then
	Untold      int64    `json:"untold"`       // cost counted here that the others do not know of yet
	Debt        float64  `json:"debt"`         // cost admitted above the limit's pace, being made up for; negative: below it
}

// RuleView is one rule, its settings and its totals since start.
type RuleView struct {
	Name         string  `json:"name"`
	Limit        int64   `json:"limit"`
	Window       float64 `json:"window"`
	Scope        string  `json:"scope"`
	View         string  `json:"view"`
	Action       string  `json:"action"`
	BlockFor     float64 `json:"block_for"`
	Mode         string  `json:"mode"`
	FailureMode  string  `json:"failure_mode"`
	Offered      uint64  `json:"offered"`  // cost
	Admitted     uint64  `json:"admitted"` // cost
	Denied       uint64  `json:"denied"`   // cost refused
	ShadowDenied uint64  `json:"shadow_denied"`

	Refusals RefusalsView `json:"refusals"` // with this limit; in shadow: what there would be
}

// RulesView is the answer of /v1/rules.
type RulesView struct {
	Rules []RuleView `json:"rules"`
}
