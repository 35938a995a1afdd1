package main

import (
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/clitest"
	"github.com/headgate-dev/headgate/edge/api"
)

// past answers with three steps, or with that of a time.
func (f *fakeAdmin) past(w http.ResponseWriter, r *http.Request) {
	if !f.known(w, r) {
		return
	}
	at := func(d time.Duration) time.Time { return clitest.Noon.Add(d) }
	most := func(n api.Amount) *api.Amount { return &n }
	v := api.PastView{
		Rule: r.FormValue("rule"), Key: r.FormValue("key"), View: "node", Since: at(-2 * time.Hour),
		Steps: []api.PastStep{
			{
				From: at(-2 * time.Minute), Seconds: 60, Total: 2400000,
				Limit:   &api.PastLimit{Limit: 100, Window: "10s"},
				Offered: api.PastBounds{AtLeast: 431, AtMost: most(480)},
				Denied:  api.PastBounds{AtLeast: 120, AtMost: most(120)},
				Error:   &api.PastError{Cost: 49, Chance: 0.02},
			},
			{
				From: at(-time.Minute), Seconds: 60, Incomplete: true, Total: 12,
				Limit:  &api.PastLimit{Limit: 5, Window: "1m"},
				Denied: api.PastBounds{AtLeast: 3},
			},
			{
				From: at(0), Seconds: 60, Open: true,
				Offered: api.PastBounds{AtMost: most(0)}, Denied: api.PastBounds{AtMost: most(0)},
			},
		},
		Denials: []api.PastDenialView{
			{At: at(-63 * time.Second), Why: "block", Policy: "login\x1b[2J", Times: 12},
			{At: at(-119 * time.Second), Why: "limit", Times: 1},
		},
	}
	if from := r.FormValue("from"); from != "" {
		v.Steps[0].From, v.Steps[0].Seconds = at(-2*time.Hour), 900
	}
	if then, err := time.Parse(time.RFC3339, r.FormValue("at")); err == nil {
		if !then.Equal(at(-2 * time.Minute)) {
			refuse(w, http.StatusNotFound, "at is before what is kept")
			return
		}
		v.Steps = v.Steps[:1]
	}
	reply(w, v)
}

// surge answers with a finding of two minutes ago, and an earlier.
func (f *fakeAdmin) surge(w http.ResponseWriter, _ *http.Request) {
	reply(w, api.SurgeView{State: "quiet", Findings: []api.SurgeFinding{
		{
			ID: "3fa9c1", Kind: "attack", Begun: clitest.Noon.Add(-3 * time.Minute),
			Seen: clitest.Noon, Sentence: "GET /search/** without accept-language\x1b[2J",
		},
		{
			ID: "3fa9c2", Kind: "crowd", Begun: clitest.Noon.Add(-time.Hour),
			Seen: clitest.Noon.Add(-3 * time.Minute), Sentence: "over by then",
		},
	}})
}
