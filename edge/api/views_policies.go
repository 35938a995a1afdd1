package api

import "time"

// The JSON shapes of GET /v1/policies and POST /v1/test-request, as in views.go.

// PolicyView is a policy in force, with counts since the policy was first in force.
type PolicyView struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
	// such as: ask login · skip all · deny 403 · tier critical
	Does string `json:"does"`
	// of a group only the first matching policy asks
	Group   string   `json:"group,omitempty"`
	Rules   []string `json:"rules"`         // that it asks
	Key     string   `json:"key,omitempty"` // by which it counts
	Line    int      `json:"line"`          // in the configuration file
	Matched uint64   `json:"matched"`       // requests
	// of Matched, where the answer names the policy or an asked rule
	Denied uint64 `json:"denied"`
	// of Matched, those denied but for shadow
	ShadowDenied uint64     `json:"shadow_denied"`
	Counted      uint64     `json:"counted"`   // counts told by reports
	Reports      uint64     `json:"reports"`   // heard
	LastSeen     *time.Time `json:"last_seen"` // when it matched last; null: never
	// questions are never reported: nothing counts
	Unreported bool `json:"unreported,omitempty"`
}

// PoliciesView is the answer of /v1/policies, in the order of the file.
type PoliciesView struct {
	Now      time.Time    `json:"now"`
	Policies []PolicyView `json:"policies"`
	// requests waiting for the report of their response
	Tickets uint64 `json:"tickets,omitempty"`
}

// TestRequest is a request somebody writes down, to see the policies' decision.
type TestRequest struct {
	Method  string   `json:"method,omitempty"`  // "": GET
	URL     string   `json:"url"`               // with or without a scheme
	Headers []string `json:"headers,omitempty"` // name: value
	// address of the client, as given by a trusted proxy; "": by the headers
	Client string `json:"client,omitempty"`
	Peer   string `json:"peer,omitempty"` // address of the sender; "": 127.0.0.1
	// of the response: the request is a report; 0: none yet
	Status int `json:"status,omitempty"`
}

// TestView is the decision of the policies on a request.
type TestView struct {
	Method string `json:"method"`
	Host   string `json:"host"`
	Path   string `json:"path"` // as the policies see it
	// as seen there as well, where a server may take another path; else ""
	Decoded   string         `json:"path_decoded,omitempty"`
	Client    string         `json:"client"`
	From      string         `json:"client_from"`
	Report    bool           `json:"report,omitempty"` // the request has a response
	Policies  []TestPolicy   `json:"policies"`
	Verdict   string         `json:"verdict"`          // of the policies: ask, skip, deny or none
	By        string         `json:"policy,omitempty"` // that skips or denies
	Status    int            `json:"status,omitempty"` // of a denial
	Questions []TestQuestion `json:"questions"`
	LeftOut   int            `json:"left_out,omitempty"` // further rules, which are not asked
}

// TestPolicy says whether a policy matches.
type TestPolicy struct {
	Name    string `json:"name"`
	Matches bool   `json:"matches"`
	Failed  string `json:"failed,omitempty"` // the first term that does not hold
	Line    int    `json:"line"`             // of that term, or of the policy
}

// TestQuestion is a rule asked by a request.
type TestQuestion struct {
	Policy string      `json:"policy"`
	Rule   string      `json:"rule"`
	Key    string      `json:"key"`
	Cost   Amount      `json:"cost"`
	Parts  uint32      `json:"-"`               // Cost, as it is counted
	Burst  int64       `json:"burst,omitempty"` // the most that may be used of the rule's
	Judges bool        `json:"judges"`          // it may deny
	Counts bool        `json:"counts"`          // it adds its cost
	Later  bool        `json:"later"`           // the response says whether, or how much
	Shadow bool        `json:"shadow"`          // its policy is in shadow
	Answer *TestAnswer `json:"answer,omitempty"`
}

// TestAnswer is the present answer of a rule in force. Nothing is counted.
type TestAnswer struct {
	Verdict   string `json:"verdict"` // allow or deny
	Why       string `json:"why,omitempty"`
	Shadow    bool   `json:"shadow,omitempty"` // allowed only because the rule is in shadow
	Remaining Amount `json:"remaining"`
	Reset     uint32 `json:"reset,omitempty"` // seconds
	Retry     uint32 `json:"retry,omitempty"` // seconds
	View      string `json:"view"`
}

// Denied reports whether the request would be denied, as far as v says.
func (v *TestView) Denied() bool {
	denied := v.Verdict == "deny"
	for i := range v.Questions {
		q := &v.Questions[i]
		denied = denied || q.Answer != nil && q.Answer.Verdict == "deny" && q.Judges &&
			!q.Shadow && !v.Report
	}
	return denied
}
