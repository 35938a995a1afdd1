package replay

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/gate/observer"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/whatif"
)

// trial tries all limits of a rule at once: of a window, all bursts of a bucket, all numbers of
// places.
type trial interface {
	Take(now window.Instant, key []byte, took time.Duration)
	Requests() (taken, leftOut int64)
	Keys() int
	Highest() int64
	Row(limit int64) whatif.Row
	Least(share float64) int64
}

// newTrial returns a trial of rule before the first request.
func newTrial(rule *mitigation.Rule) trial {
	switch rule.Kind {
	case mitigation.Bucket:
		return anyBurst{whatif.NewBursts(observer.Tried(rule))}
	case mitigation.Concurrency:
		return whatif.NewPlaces()
	case mitigation.Window:
	}
	return anyLimit{whatif.NewExact(observer.Tried(rule))}
}

// anyLimit and anyBurst are trials for which the duration of a request is of no matter.
type (
	anyLimit struct{ *whatif.Exact }
	anyBurst struct{ *whatif.Bursts }
)

// Take adds a request of key at now.
func (l anyLimit) Take(now window.Instant, key []byte, _ time.Duration) { l.Exact.Take(now, key) }

// Take adds a request of key at now.
func (b anyBurst) Take(now window.Instant, key []byte, _ time.Duration) { b.Bursts.Take(now, key) }

// trialSummary is the output of `headgate replay --suggest`; printed unchanged by --json.
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

// trialRow counts the requests of the log refused by a limit.
type trialRow struct {
	Limit        int64   `json:"limit"` // of a bucket, its burst
	Requests     int64   `json:"requests"`
	RequestShare float64 `json:"request_share"`
	Keys         int64   `json:"keys"` // refused at least once
	KeyShare     float64 `json:"key_share"`
	Waits        int64   `json:"waits,omitempty"` // of a bucket with a delay: requests waiting
	WaitShare    float64 `json:"wait_share,omitempty"`
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
		Rule:     replayedRule(&r.rule),
		Requests: requests,
		Keys:     r.trial.Keys(),
		Untold:   untold,
		Began:    r.tally.began.Time().UTC(),
		Ended:    r.now.Time().UTC(),
		WentBack: r.tally.wentBack,
		BadLines: r.faults.Count,
	}
	highest := r.trial.Highest()
	if r.trial.Row(highest).Requests > 0 {
		highest = 0 // none tried denies nothing
	}
	notes := whatif.Notes(r.rule.Quota(), highest, r.trial.Least)
	for _, limit := range whatif.Shown(r.trial.Highest(), notes) {
		row := r.trial.Row(limit)
		s.Rows = append(s.Rows, trialRow{
			Limit:        limit,
			Requests:     row.Requests,
			RequestShare: float64(row.Requests) / float64(requests),
			Keys:         row.Keys,
			KeyShare:     float64(row.Keys) / float64(max(1, s.Keys)),
			Note:         notes[limit],
			Waits:        row.Waits,
			WaitShare:    float64(row.Waits) / float64(requests),
		})
	}
	return s
}

func (a *app) writeTrial(s *trialSummary) {
	a.WriteTable(a.Stdout, [][]cli.Cell{
		fact(s.Rule.Name, cli.Grouped(s.Rule.Limit), s.Rule.per()),
		fact("requests", cli.Grouped(s.Requests), stamp(s.Began)+" to "+stamp(s.Ended)),
		fact("keys", cli.Grouped(int64(s.Keys)), ""),
		fact("bad lines", cli.Grouped(s.BadLines), ""),
	})
	if s.Untold > 0 {
		fmt.Fprintf(a.Stdout, "%s requests of keys past the first %s are not included\n",
			cli.Grouped(s.Untold), cli.Grouped(whatif.MaxKeys))
	}
	fmt.Fprintln(a.Stdout)
	column := "LIMIT"
	switch s.Rule.Kind {
	case mitigation.Bucket.String():
		column = "BURST"
	case mitigation.Concurrency.String():
		column = "PLACES"
	}
	header, waits := []string{
		column, "DENIED", "OF REQUESTS", "KEYS DENIED", "OF KEYS",
	}, s.Rule.Delay > 0
	if waits {
		header = append(header, "WAITING", "OF REQUESTS")
	}
	rows := [][]cli.Cell{cli.Header(append(header, "")...)}
	for _, r := range s.Rows {
		row := []cli.Cell{
			cli.Number(cli.Grouped(r.Limit)),
			cli.Number(cli.Grouped(r.Requests)),
			cli.Number(cli.ShareText(r.RequestShare)),
			cli.Number(cli.Grouped(r.Keys)),
			cli.Number(cli.ShareText(r.KeyShare)),
		}
		if waits {
			row = append(row, cli.Number(cli.Grouped(r.Waits)),
				cli.Number(cli.ShareText(r.WaitShare)))
		}
		rows = append(rows, append(row, cli.Left(r.Note)))
	}
	a.WriteTable(a.Stdout, rows)
}
