package main

import (
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
)

func (f *fakeAdmin) policies(w http.ResponseWriter, _ *http.Request) {
	seen := clitest.Noon.Add(-95 * time.Second)
	reply(w, api.PoliciesView{Now: clitest.Noon, Policies: []api.PolicyView{
		{
			Name: "scanners\x1b[2J", Mode: "enforce", Does: "deny 403", Line: 4, Matched: 12,
			Denied: 12, LastSeen: &seen,
		},
		{
			Name: "login", Mode: "shadow", Does: "ask login", Key: "client", Line: 9,
			Rules: []string{"login"}, Matched: 1234, ShadowDenied: 34, LastSeen: &seen,
		},
		{
			Name:  "exports",
			Mode:  "enforce",
			Does:  "ask exports",
			Key:   "header.x-api-key",
			Line:  15,
			Rules: []string{"exports"},
		},
	}})
}

func (f *fakeAdmin) testRequest(w http.ResponseWriter, _ *http.Request) {
	reply(w, api.TestView{
		Method: "GET", Host: "example.com", Path: "/login", Client: "203.0.113.7",
		From: "x-forwarded-for", Verdict: "ask",
		Policies: []api.TestPolicy{
			{Name: "scanners", Failed: "path: /.env", Line: 5},
			{Name: "login", Matches: true, Line: 9},
		},
		Questions: []api.TestQuestion{
			{
				Policy: "login", Rule: "login", Key: "203.0.113.7", Cost: 1, Judges: true,
				Counts: true, Answer: &api.TestAnswer{
					Verdict:   "allow",
					Remaining: 3, View: "node",
				},
			},
			{
				Policy: "login", Rule: "per-ip", Key: "203.0.113.7", Cost: 1, Judges: true,
				Counts: true, Answer: &api.TestAnswer{
					Verdict: "deny", Why: "block",
					Retry: 540, View: "node",
				},
			},
			{
				Policy: "login", Rule: "trial", Key: "203.0.113.7", Cost: 1, Judges: true,
				Counts: true, Answer: &api.TestAnswer{
					Verdict: "allow",
					Shadow:  true, View: "node",
				},
			},
		},
	})
}
