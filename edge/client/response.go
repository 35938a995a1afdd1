package client

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// The types of problems, from draft-ietf-httpapi-ratelimit-headers-10.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// policyOf returns the value of RateLimit-Policy, "login";q=5;w=60, or "" if the limit is not
// known. w counts whole seconds and is left out of other windows. The rule's name stands in quotes
// unchanged: a name can have neither a quote nor a backslash.
func policyOf(rule string, limit int64, window time.Duration) string {
	if limit <= 0 {
		return ""
	}
	policy := `"` + rule + `";q=` + strconv.FormatInt(limit, 10)
	if window >= time.Second && window%time.Second == 0 {
		policy += ";w=" + wholeSeconds(window)
	}
	return policy
}

// announce adds the RateLimit headers of an answer. Lists: a handler within another adds another
// element.
func (h *handler) announce(header http.Header, a Answer) {
	// no rule has answered, or the rule of WithRule is in shadow
	if a.Rule == "" || h.rule != "" && a.Shadow {
		return
	}
	if h.policy != "" {
		header.Add("RateLimit-Policy", h.policy)
	}
	header.Add("RateLimit", a.RateLimit())
}

// RateLimit returns the value of the header RateLimit, "login";r=4;t=60, of an answer with a rule;
// "" of others.
func (a Answer) RateLimit() string {
	remaining, reset := a.Remaining, a.Reset
	if !a.Allowed() { // t is then when to come back
		reset = a.Retry
	}
	if a.Rule == "" {
		return ""
	}
	return `"` + a.Rule + `";r=` + strconv.FormatInt(remaining, 10) + ";t=" + wholeSeconds(reset)
}

// problem is the body of a denial: problem details of RFC 9457, with the members the daemon's own
// HTTP listener sends.
type problem struct {
	Type       string   `json:"type"`
	Title      string   `json:"title"`
	Status     int      `json:"status"`
	Verdict    string   `json:"verdict,omitempty"`
	Rule       string   `json:"rule,omitempty"`
	Limit      int64    `json:"limit,omitempty"`
	Window     float64  `json:"window,omitempty"` // seconds
	Remaining  *int64   `json:"remaining,omitempty"`
	Reset      int64    `json:"reset,omitempty"` // seconds
	View       string   `json:"view,omitempty"`
	Why        string   `json:"why,omitempty"`
	RetryAfter int64    `json:"retry_after,omitempty"` // seconds
	Ratio      float32  `json:"ratio,omitempty"`
	Blast      int      `json:"blast,omitempty"`
	Violated   []string `json:"violated-policies,omitempty"`
}

// deny answers a denied request.
func (h *handler) deny(w http.ResponseWriter, a Answer) {
	p := h.problemOf(a)
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers always encode
		panic(err)
	}
	header := w.Header()
	if a.Retry > 0 {
		header.Set("Retry-After", wholeSeconds(a.Retry))
	}
	header.Set("Content-Type", "application/problem+json")
	// A cache keeping a denial would deny everybody.
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}

// problemOf returns the body for a denial, which is the daemon's or, without an answer, the
// FailMode's. The latter exceeds no quota, and does not name the rule.
func (h *handler) problemOf(a Answer) problem {
	retry := int64(a.Retry / time.Second)
	if a.Err != nil {
		return problem{
			Type: reducedCapacity, Title: "The rate limiter does not answer",
			Status: http.StatusServiceUnavailable, RetryAfter: retry,
		}
	}
	if a.Rule == "" { // a policy denies by itself
		return problem{
			Type: "about:blank", Title: http.StatusText(a.HTTP), Status: a.HTTP,
			Verdict: wire.Deny.String(), Why: a.Ground,
		}
	}
	return problem{
		Type: quotaExceeded, Title: "The limit of this rule is used up", Status: a.HTTP,
		Verdict: wire.Deny.String(), Rule: a.Rule, Limit: h.limit, Window: h.window.Seconds(),
		Remaining: new(int64), Reset: retry, View: a.View.String(), Why: a.Why.String(),
		RetryAfter: retry, Ratio: float32(a.Ratio), Blast: a.Blast, Violated: []string{a.Rule},
	}
}

// wholeSeconds returns d, which is whole seconds, as a decimal number.
func wholeSeconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
