package api

import (
	"strconv"
	"strings"
	"time"
)

// ParseDays reads a duration, or a number of days such as 7d.
func ParseDays(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// LimitRequest asks for a limit by hand: a row of /v1/limits.
type LimitRequest struct {
	Rule   string `json:"rule"`
	Key    string `json:"key,omitempty"`
	Shown  string `json:"shown,omitempty"` // in place of Key, as lists print it
	Limit  string `json:"limit"`           // a number in the unit of the rule
	Burst  string `json:"burst,omitempty"` // likewise, of buckets
	TTL    string `json:"ttl,omitempty"`   // a duration such as 36h or 7d, or
	Until  string `json:"until,omitempty"` // RFC 3339, or YYYY-MM-DD
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// LimitView is a limit by hand.
type LimitView struct {
	Rule    string    `json:"rule"`
	Key     string    `json:"key"` // escaped
	Limit   Amount    `json:"limit"`
	Unit    string    `json:"unit,omitempty"`
	Window  float64   `json:"window,omitempty"` // of the rule, seconds
	Burst   Amount    `json:"burst,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	By      string    `json:"by"`
	Reason  string    `json:"reason,omitempty"`
	Node    string    `json:"node"` // at which it was set

	// of the answer to a change only: the limit before, where no request must say, and whether
	// other nodes are sent the change
	Before Amount `json:"before,omitempty"`
	Alone  bool   `json:"alone,omitempty"`
}

// LimitsView is a page of limits by hand, by rule and key.
type LimitsView struct {
	Limits []LimitView `json:"limits"`
	Cursor string      `json:"cursor,omitempty"` // of the next page
}

// LimitsSetView is the answer to a batch.
type LimitsSetView struct {
	Set int `json:"set"`
}
