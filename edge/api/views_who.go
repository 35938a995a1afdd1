package api

import "time"

// WhoView is the answer of POST /v1/who: the keys of a client, denied ones first, then those denied
// but for shadow.
type WhoView struct {
	Now     time.Time    `json:"now"`
	Allowed bool         `json:"allowed"` // nothing denies
	More    bool         `json:"more"`    // some rule has more keys than are looked for
	Who     []WhoKeyView `json:"who"`
}

// WhoKeyView is a key of a client under a rule.
type WhoKeyView struct {
	Rule     string   `json:"rule"`
	Key      string   `json:"key"`
	Policies []string `json:"policies"` // asking the rule
	Kind     string   `json:"kind"`
	Mode     string   `json:"mode"`
	// in the trailing window; an estimate where the key has no exact count
	Offered    Amount          `json:"offered"`
	Admitted   Amount          `json:"admitted"`
	Limit      Amount          `json:"limit"`
	Window     float64         `json:"window"` // seconds
	Unit       string          `json:"unit"`   // requests or cost
	Remaining  Amount          `json:"remaining"`
	Verdict    string          `json:"verdict"` // allow or deny
	Why        string          `json:"why"`
	Shadow     bool            `json:"shadow,omitempty"` // it passes only because of a shadow
	Retry      uint32          `json:"retry"`            // seconds
	Until      *time.Time      `json:"until"`            // when the next one passes; null: now
	Strikes    int             `json:"strikes"`
	Mitigation *MitigationView `json:"mitigation"`
}

// ChangedView is the answer to a change of a client's keys under all rules.
type ChangedView struct {
	Changed []ChangedKeyView `json:"changed"`
	Left    []LeftRuleView   `json:"left"`
}

// ChangedKeyView is a changed key.
type ChangedKeyView struct {
	Rule string `json:"rule"`
	Key  string `json:"key"`
}

// LeftRuleView is a rule under which nothing was changed.
type LeftRuleView struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}
