package replay

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window/whatif"
)

// trialRule is a rule with the other limits that are tried.
func trialRule(rule mitigation.Rule) whatif.Rule {
	r := whatif.Rule{Limit: rule.Limit, Window: rule.Window}
	if rule.Action == mitigation.Block {
		r.BlockFor = rule.BlockFor
	}
	return r
}

// trialSummary is the output of `headgate replay --suggest`; --json prints it as it is.
type trialSummary struct {
	Rule     replayRule `json:"rule"`
	Requests int64      `json:"requests"`
	Keys     int        `json:"keys"`
	Untold   int64      `json:"untracked_requests,omitempty"`
	Began    time.Time  `json:"began"` // the log's time
	Ended    time.Time  `json:"ended"`
	WentBack int64      `json:"went_back"`
	BadLines int64      `json:"bad_lines"`
	Rows     []trialRow `json:"rows"` // the lowest limit first
}

// trialRow counts the requests of the log that one limit refuses.
type trialRow struct {
	Limit        int64   `json:"limit"`
	Requests     int64   `json:"requests"`
	RequestShare float64 `json:"request_share"`
	Keys         int64   `json:"keys"` // refused at least once
	KeyShare     float64 `json:"key_share"`
	Note         string  `json:"note,omitempty"` // why the limit is in the list
}

// printTrial prints the table of limits.
func (o *replayOptions) printTrial(a *app, r *replay) error {
	s := r.summarizeTrial()
	if o.json {
		return cli.WriteJSON(a.Stdout, s)
	}
	a.writeTrial(s)
	return nil
}

func (r *replay) summarizeTrial() *trialSummary {
	requests, untold := r.trial.Requests()
	s := &trialSummary{
		Rule:     replayRule{r.rule.Name, r.rule.Limit, r.rule.Window.Seconds(), r.rule.Action.String()},
		Requests: requests, Keys: r.trial.Keys(), Untold: untold, Began: r.tally.began.Time().UTC(), Ended: r.now.Time().UTC(),
		WentBack: r.tally.wentBack, BadLines: r.faults.Count,
	}
	notes := whatif.Notes(r.rule.Limit, r.trial.Highest(), r.trial.Least)
	for _, limit := range whatif.Shown(r.trial.Highest(), notes) {
		row := r.trial.Row(limit)
		s.Rows = append(s.Rows, trialRow{
			Limit: limit, Requests: row.Requests, RequestShare: float64(row.Requests) / float64(requests),
			Keys: row.Keys, KeyShare: float64(row.Keys) / float64(max(1, s.Keys)), Note: notes[limit],
		})
	}
	return s
}

func (a *app) writeTrial(s *trialSummary) {
	a.WriteTable(a.Stdout, [][]cli.Cell{
		fact(s.Rule.Name, cli.Grouped(s.Rule.Limit), fmt.Sprintf("per %s, %s", cli.Span(cli.Seconds(s.Rule.Window)), s.Rule.Action)),
		fact("requests", cli.Grouped(s.Requests), stamp(s.Began)+" to "+stamp(s.Ended)),
		fact("keys", cli.Grouped(int64(s.Keys)), ""),
		fact("bad lines", cli.Grouped(s.BadLines), ""),
	})
	if s.Untold > 0 {
		fmt.Fprintf(a.Stdout, "%s requests of keys past the first %s are not included\n", cli.Grouped(s.Untold), cli.Grouped(whatif.MaxKeys))
	}
	fmt.Fprintln(a.Stdout)
	rows := [][]cli.Cell{cli.Header("LIMIT", "DENIED", "OF REQUESTS", "KEYS DENIED", "OF KEYS", "")}
	for _, r := range s.Rows {
		rows = append(rows, []cli.Cell{
			cli.Number(cli.Grouped(r.Limit)), cli.Number(cli.Grouped(r.Requests)), cli.Number(cli.ShareText(r.RequestShare)),
			cli.Number(cli.Grouped(r.Keys)), cli.Number(cli.ShareText(r.KeyShare)), cli.Left(r.Note),
		})
	}
	a.WriteTable(a.Stdout, rows)
}
