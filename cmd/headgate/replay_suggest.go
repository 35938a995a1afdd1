package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window/trial"
)

// trialRule is what is tried of rule under other limits.
func trialRule(rule mitigation.Rule) trial.Rule {
	r := trial.Rule{Limit: rule.Limit, Window: rule.Window}
	if rule.Action == mitigation.Block {
		r.BlockFor = rule.BlockFor
	}
	return r
}

// trialSummary is what `headgate replay --suggest` prints; --json prints it as it is.
type trialSummary struct {
	Rule     replayRule `json:"rule"`
	Requests int64      `json:"requests"`
	Keys     int        `json:"keys"`
	Untold   int64      `json:"requests_of_keys_not_told_apart,omitempty"`
	Began    time.Time  `json:"began"` // the log's time
	Ended    time.Time  `json:"ended"`
	WentBack int64      `json:"went_back"`
	BadLines int64      `json:"bad_lines"`
	Rows     []trialRow `json:"rows"` // the lowest limit first
}

// trialRow is what one limit refuses of the log, to the request.
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
		return writeJSON(a.stdout, s)
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
	notes := trial.Notes(r.rule.Limit, r.trial.Highest(), r.trial.Least)
	for _, limit := range trial.Shown(r.trial.Highest(), notes) {
		row := r.trial.Row(limit)
		s.Rows = append(s.Rows, trialRow{
			Limit: limit, Requests: row.Requests, RequestShare: float64(row.Requests) / float64(requests),
			Keys: row.Keys, KeyShare: float64(row.Keys) / float64(max(1, s.Keys)), Note: notes[limit],
		})
	}
	return s
}

func (a *app) writeTrial(s *trialSummary) {
	a.writeTable(a.stdout, [][]cell{
		fact(s.Rule.Name, grouped(s.Rule.Limit), fmt.Sprintf("per %s, %s", span(seconds(s.Rule.Window)), s.Rule.Action)),
		fact("requests", grouped(s.Requests), stamp(s.Began)+" to "+stamp(s.Ended)),
		fact("keys", grouped(int64(s.Keys)), ""),
		fact("bad lines", grouped(s.BadLines), ""),
	})
	if s.Untold > 0 {
		fmt.Fprintf(a.stdout, "%s requests of keys past the first %s are left out\n", grouped(s.Untold), grouped(trial.MaxKeys))
	}
	fmt.Fprintln(a.stdout)
	rows := [][]cell{header("LIMIT", "REFUSED", "OF REQUESTS", "KEYS REFUSED", "OF KEYS", "")}
	for _, r := range s.Rows {
		rows = append(rows, []cell{
			number(grouped(r.Limit)), number(grouped(r.Requests)), number(shareText(r.RequestShare)),
			number(grouped(r.Keys)), number(shareText(r.KeyShare)), left(r.Note),
		})
	}
	a.writeTable(a.stdout, rows)
}

// shareText writes a share in percent, to three digits.
func shareText(share float64) string {
	switch percent := 100 * share; {
	case percent == 0:
		return "0 %"
	case percent < 0.001:
		return "< 0.001 %"
	case percent < 1:
		return strconv.FormatFloat(percent, 'f', 3, 64) + " %"
	case percent < 10:
		return strconv.FormatFloat(percent, 'f', 2, 64) + " %"
	default:
		return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
	}
}
