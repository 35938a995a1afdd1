package api

import "time"

// PastView is the answer of /v1/past: the past of a key, by this node's counts.
type PastView struct {
	Rule    string           `json:"rule"`
	Key     string           `json:"key"`   // escaped
	View    string           `json:"view"`  // node: the past of other nodes is not in it
	Since   time.Time        `json:"since"` // nothing before is known
	Steps   []PastStep       `json:"steps"` // oldest first
	Denials []PastDenialView `json:"denials"`
}

// PastStep is a minute of the last hour, or an earlier quarter of an hour.
type PastStep struct {
	From       time.Time  `json:"from"`
	Seconds    int        `json:"seconds"`
	Open       bool       `json:"open"`            // it is not over
	Incomplete bool       `json:"incomplete"`      // an upper bound is not known, and left out
	Total      uint64     `json:"total"`           // cost under all rules
	Limit      *PastLimit `json:"limit,omitempty"` // nil: the key has, or may have had, another
	Offered    PastBounds `json:"offered"`
	Denied     PastBounds `json:"denied"` // by this rule; in shadow nothing is
	Error      *PastError `json:"error,omitempty"`
}

// PastLimit is the numbers of the rule when a step began.
type PastLimit struct {
	Limit  Amount `json:"limit"`
	Window string `json:"window"`
}

// PastBounds are cost that is not known exactly.
type PastBounds struct {
	AtLeast Amount  `json:"at_least"`
	AtMost  *Amount `json:"at_most,omitempty"`
}

// PastError says how much too high an upper bound is at most, but with that chance.
type PastError struct {
	Cost   Amount  `json:"cost"`
	Chance float64 `json:"chance"`
}

// PastDenialView is the denials of a key within a second, for a reason, at a policy's question.
type PastDenialView struct {
	At     time.Time `json:"at"`
	Why    string    `json:"why"`
	Policy string    `json:"policy"` // empty: the rule was asked by its name
	Times  uint64    `json:"times"`
}
