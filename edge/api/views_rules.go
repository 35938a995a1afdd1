package api

import (
	"encoding/json"
	"time"
)

// DenialsView counts the denials of a rule with the present limit, in shadow mode the denials
// enforcement would have caused. Keys are estimates: each of the two is within KeysError of the
// true number two times out of three.
type DenialsView struct {
	// when the node started, or the limit, the window or the enforcement of the rule changed
	Since           time.Time `json:"since"`
	Requests        uint64    `json:"requests"`          // asking the rule
	Denied          uint64    `json:"denied"`            // of Requests; the answers name the rule
	DeniedBeside    uint64    `json:"denied_beside"`     // denied too, but another rule was named
	DeniedShare     float64   `json:"denied_share"`      // Denied / Requests, 0..1
	Offered         Amount    `json:"offered"`           // cost
	DeniedCost      Amount    `json:"denied_cost"`       // of Offered
	DeniedCostShare float64   `json:"denied_cost_share"` // DeniedCost / Offered, 0..1
	Keys            uint64    `json:"keys"`              // distinct keys with a request
	DeniedKeys      uint64    `json:"denied_keys"`       // of Keys, those denied at least once
	DeniedKeyShare  float64   `json:"denied_key_share"`  // DeniedKeys / Keys, 0..1
	KeysError       float64   `json:"keys_error"`        // standard error, as a share
}

// ReloadView is the answer of /v1/reload when the new rules are in force.
type ReloadView struct {
	Rules int `json:"rules"` // how many there are now
	// changed settings taking effect at the next start only
	NeedRestart []string `json:"need_restart,omitempty"`
	// sets whose files have changed
	Sets []SetChangeView `json:"sets,omitempty"`
}

// SetChangeView is a set whose file has changed.
type SetChangeView struct {
	Name   string `json:"name"`
	Before int    `json:"before"` // entries; 0 also of a new set
	After  int    `json:"after"`
}

// ConfigView is the answer of /v1/config. Config holds the paths of secret files, never their
// content.
type ConfigView struct {
	File string `json:"file,omitempty"` // empty: the built-in configuration
	// of the start, or of the last successful reload
	Since time.Time `json:"since"`
	// settings of the file taking effect at the next start only
	NeedRestart []string `json:"need_restart,omitempty"`
	// every field of headgate.yaml, defaults included, with the modes in force
	Config json.RawMessage `json:"config"`
}

// VersionView is the answer of /v1/version.
type VersionView struct {
	Build
	Node    string    `json:"node"`
	Started time.Time `json:"started"`
}

// Build identifies the source and the platform of a binary.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source; -dirty: with changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// SuggestView estimates, since a moment, the denials other limits than the rule's own would have
// caused among a rule's requests. Offered and Keys are of this node. Where nodes share the rule,
// Rows are of the cost the sampled keys of this node asked of all nodes.
type SuggestView struct {
	Rule  string `json:"rule"`
	Kind  string `json:"kind"` // window, bucket or concurrency; pool for a pool
	Limit int64  `json:"limit"`
	Burst int64  `json:"burst,omitempty"` // of a bucket: the rows try others
	// of a bucket: seconds a request may have to wait
	Delay  float64 `json:"delay,omitempty"`
	Counts string  `json:"counts,omitempty"` // offered: denied requests count too
	// of a bucket with a delay, since the node started
	Waited    *WaitedView  `json:"waited,omitempty"`
	Window    float64      `json:"window"` // seconds
	Action    string       `json:"action"`
	Mode      string       `json:"mode"`
	Shared    bool         `json:"shared"` // other nodes count too
	Since     time.Time    `json:"since"`
	Until     time.Time    `json:"until"`
	Offered   uint64       `json:"offered"` // cost
	Keys      uint64       `json:"keys"`    // estimated
	KeysError float64      `json:"keys_error"`
	Observed  ObservedView `json:"observed"`
	Sample    SampleView   `json:"sample"`
	Rows      []SuggestRow `json:"rows"`           // the lowest limit first
	Held      *HeldView    `json:"held,omitempty"` // of kind concurrency
	// where Rule names a pool; then there are no rows
	Pool *PoolSeenView `json:"pool,omitempty"`
}

// ObservedView counts the denials of the rule since Since, in shadow those prevented.
type ObservedView struct {
	Requests uint64 `json:"requests"`
	Denied   uint64 `json:"denied"` // of Requests
}

// HeldView is how many places keys held at once, by looks twice a second.
type HeldView struct {
	Most int64   `json:"most"` // by a key at a single look
	Mean float64 `json:"mean"` // by a key while it held any
}

// PoolSeenView is how busy a pool was since made, and how much was shed.
type PoolSeenView struct {
	Heard        float64   `json:"heard"`    // seconds with reports
	Silent       float64   `json:"silent"`   // seconds without
	Shedding     float64   `json:"shedding"` // share of the time, 0..1
	Denied       uint64    `json:"denied"`   // requests
	ShedAbove    float64   `json:"shed_above"`
	RestoreBelow float64   `json:"restore_below"`
	Busy         []BusyRow `json:"busy"` // the least share in use first
	// in the order of shedding, with the mean of ratios
	Tiers []TierView `json:"tiers"`
}

// BusyRow is for which share of the time with reports a pool was at least so busy.
type BusyRow struct {
	Above float64 `json:"above"` // share in use, 0..1
	Share float64 `json:"share"` // of the time, 0..1
}

// WaitedView is how many requests were allowed for later.
type WaitedView struct {
	Requests uint64  `json:"requests"`
	Mean     float64 `json:"mean"` // seconds
}

// SampleView describes the sample the rows rest on.
type SampleView struct {
	Keys int `json:"keys"` // in the sample
	// every key asking for this much in a window is in the sample; 0: every key is
	AllFrom float64 `json:"complete_from"`
	// keys never asking for this much in a window may be missing; 0: none is
	BlindTo int64 `json:"missing_below"`
	// looks at a key too late for all requests
	LateLooks uint64 `json:"late_samples"`
}

// SuggestRow is the estimated effect of a limit. The true share lies between low and high, apart
// from the error of sampling, which exists only below sample.complete_from. For a rule that blocks,
// the cost is estimated to within a few percent.
type SuggestRow struct {
	// of a bucket, a burst; of kind concurrency, a number of places
	Limit     int64      `json:"limit"`
	Cost      ShareRange `json:"cost_share"`
	Keys      ShareRange `json:"key_share"` // denied at least once
	KeysError float64    `json:"key_error"` // standard error of sampling, as a share of that
	// below sample.missing_below: the true shares may be higher
	AtLeast bool   `json:"at_least"`
	Note    string `json:"note,omitempty"` // reason why the limit is listed
}

// ShareRange bounds a share, 0 to 1.
type ShareRange struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
