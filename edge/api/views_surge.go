package api

import "time"

// SurgeView is the answer of /v1/surge.
type SurgeView struct {
	State    string            `json:"state"` // off, learning, quiet, few, crowd or attack
	Since    time.Time         `json:"since"`
	Rate     SurgeRateView     `json:"rate"`
	Sample   SurgeSampleView   `json:"sample"`
	Learning SurgeLearningView `json:"learning"`
	Findings []SurgeFinding    `json:"findings"` // newest first, at most 64, for 24 h

	// of metrics alone: findings by kind, requests kept, not kept, and seconds of the last look
	Begun         map[string]uint64 `json:"-"`
	Sampled, Lost uint64            `json:"-"`
	Look          float64           `json:"-"`
	Ignored       uint64            `json:"-"` // unusable files of usual traffic
	Applied       []string          `json:"-"` // modes of the policies in force
}

// SurgeRateView is requests a second, of a client four of the sample at most.
type SurgeRateView struct {
	Now   float64 `json:"now"`
	Usual float64 `json:"usual"`
}

// SurgeSampleView is the sample of a look.
type SurgeSampleView struct {
	Share float64 `json:"share"` // of the requests, kept now, 0 to 1
	Rows  int     `json:"rows"`
}

// SurgeLearningView is the knowledge of usual traffic.
type SurgeLearningView struct {
	Rows    int     `json:"rows"`
	ReadyIn float64 `json:"ready_in"` // seconds
}

// SurgeFinding is the common properties of the requests of a surge.
type SurgeFinding struct {
	ID         string             `json:"id"`
	Kind       string             `json:"kind"` // attack, crowd or few
	Begun      time.Time          `json:"begun"`
	Seen       time.Time          `json:"seen"`
	Over       bool               `json:"over"`
	Conditions []SurgeCondition   `json:"conditions"`
	Excess     *SurgeExcess       `json:"excess,omitempty"`
	Usual      *SurgeUsual        `json:"usual_share,omitempty"`
	Clients    *SurgeLeast        `json:"clients,omitempty"`
	Networks   *SurgeLeast        `json:"networks,omitempty"`
	Addresses  []string           `json:"addresses,omitempty"` // of kind few
	Signs      []string           `json:"signs"`
	Sentence   string             `json:"sentence"`
	Policy     string             `json:"policy,omitempty"` // an item of policies, as YAML
	NoPolicy   string             `json:"no_policy,omitempty"`
	Applied    *SurgeAppliedState `json:"applied"`
}

// SurgeCondition is a field of match: either Is, or Present.
type SurgeCondition struct {
	Field   string  `json:"field"`
	Is      *string `json:"is,omitempty"`
	Present *bool   `json:"present,omitempty"`
}

// SurgeExcess is the share of the excess, 0 to 1, at 95 %, and requests a second.
type SurgeExcess struct {
	Low  float64 `json:"share_low"`
	High float64 `json:"share_high"`
	Rate float64 `json:"rate"`
}

// SurgeUsual is the upper end of the share of usual traffic, at 95 %, by so many rows.
type SurgeUsual struct {
	AtMost float64 `json:"at_most"`
	Rows   int     `json:"rows"`
}

// SurgeLeast is a number of clients or networks, each counted once.
type SurgeLeast struct {
	AtLeast int `json:"at_least"`
}

// SurgeAppliedState is the policy of a finding in force.
type SurgeAppliedState struct {
	Mode    string    `json:"mode"`
	Until   time.Time `json:"until"`
	By      string    `json:"by"`
	All     bool      `json:"all"`
	Matched uint64    `json:"matched"` // requests, at this node
	Denied  uint64    `json:"denied"`  // of these; in shadow, would have been
}

// SurgeApply is the body of POST /v1/surge/apply.
type SurgeApply struct {
	ID   string `json:"id"`
	Mode string `json:"mode"` // shadow or enforce; empty: shadow
	For  string `json:"for"`  // a duration, 1m to 24h; empty: 30m
	All  bool   `json:"all"`  // on every member
	By   string `json:"by"`
}

// SurgeAppliedView is the answer.
type SurgeAppliedView struct {
	Name  string    `json:"name"` // of the policy
	Mode  string    `json:"mode"`
	Until time.Time `json:"until"`
	Alone bool      `json:"alone,omitempty"` // it was for all, and there is no gossip
}

// SurgeEvent is the event of a finding, at beginning and end, and when its policy is applied or
// undone.
type SurgeEvent struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Begun    time.Time `json:"begun"`
	Over     bool      `json:"over"`
	Sentence string    `json:"sentence"`
	Applied  string    `json:"applied,omitempty"` // the mode, or undone
}
