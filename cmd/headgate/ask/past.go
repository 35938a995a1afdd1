package ask

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// mostSince is how long the past is kept.
const mostSince = 24 * time.Hour

// History returns `headgate history`, which shows the past of a key.
func History(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f explainFlags
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "history RULE KEY",
		Short: "Show what a key asked for and was denied, by minutes",
		Long: `Print a line for each minute of the last hour, and for each quarter of an hour
before: the cost the key asked for under the rule at this node, and the denied part. A figure that
is not known exactly is printed with its bounds. The past is in memory for a day
(history.memory), and a restart forgets it.`,
		Example: `  headgate history login 203.0.113.7
  headgate history login 203.0.113.7 --since 12h`,
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			if since <= 0 || since > mostSince {
				return fmt.Errorf("--since must be above 0 and at most 24h, not %v", since)
			}
			return a.eachKey(cmd.Context(), args, &f, func(d *cli.Client, query url.Values) error {
				return a.history(cmd.Context(), d, query, since, f.json)
			})
		},
	}
	cmd.Flags().DurationVar(&since, "since", time.Hour, "the steps of the last `DURATION`")
	return a.aboutKey(cmd, &f)
}

// aboutKey completes a command about RULE KEY.
func (a *app) aboutKey(cmd *cobra.Command, f *explainFlags) *cobra.Command {
	cmd.Args = f.want(nil)
	cli.AddShownFlag(cmd, &f.shown)
	f.addTo(cmd)
	a.AddAdminFlags(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// eachKey calls do with the query of each meant key.
func (a *app) eachKey(
	ctx context.Context, args []string, f *explainFlags, do func(*cli.Client, url.Values) error,
) error {
	daemon, keys, err := a.meant(ctx, args, &f.whom, f.shown)
	if err != nil {
		return err
	}
	for _, key := range keys {
		query := url.Values{"rule": args[:1]}
		setKey(query, key)
		if err := do(daemon, query); err != nil {
			return err
		}
	}
	return nil
}

// history prints the steps of the key in query.
func (a *app) history(
	ctx context.Context, d *cli.Client, query url.Values, since time.Duration, asJSON bool,
) error {
	v, err := a.past(ctx, d, query)
	if err != nil {
		return err
	}
	if from := a.Now().Add(-since); since != time.Hour {
		if from.Before(v.Since) {
			from = v.Since
		}
		query.Set("from", from.UTC().Format(time.RFC3339))
		if v, err = a.past(ctx, d, query); err != nil {
			return err
		}
	}
	if asJSON {
		return cli.WriteJSON(a.Stdout, v)
	}
	for i := range v.Steps {
		s := &v.Steps[i]
		fmt.Fprintf(a.Stdout, "%s  %s\n", s.From.Local().Format("15:04"), stepText(s))
	}
	return nil
}

func (a *app) past(
	ctx context.Context, d *cli.Client, query url.Values,
) (v api.PastView, err error) {
	if err = d.Get(ctx, "/v1/past", query, &v); err != nil {
		err = d.ExplainRefusal(ctx, err, query.Get("rule"))
	}
	return v, err
}

// stepText describes a step: 431 to 480 asked for, 120 denied, limit 100 per 10s.
func stepText(s *api.PastStep) string {
	text := boundsText(s.Offered) + " asked for, " + boundsText(s.Denied) + " denied"
	if l := s.Limit; l != nil {
		text += fmt.Sprintf(", limit %v per %s", l.Limit, cli.Safe(l.Window))
	}
	if s.Open {
		text += ", until now"
	}
	return text
}

// boundsText names a cost: 12; at least 431, at most 480; at least 431.
func boundsText(b api.PastBounds) string {
	switch {
	case b.AtMost == nil && b.AtLeast == 0:
		return "an unknown cost"
	case b.AtMost == nil:
		return "at least " + b.AtLeast.String()
	case *b.AtMost == b.AtLeast:
		return b.AtLeast.String()
	}
	return fmt.Sprintf("at least %v, at most %v", b.AtLeast, *b.AtMost)
}

// explainAt explains the step of the key in query that holds a time.
func (a *app) explainAt(
	ctx context.Context, d *cli.Client, query url.Values, at time.Time, asJSON bool,
) error {
	query.Set("at", at.UTC().Format(time.RFC3339))
	v, err := a.past(ctx, d, query)
	if err != nil {
		return err
	}
	if asJSON {
		return cli.WriteJSON(a.Stdout, v)
	}
	for i := range v.Steps {
		s := &v.Steps[i]
		end := s.From.Add(time.Duration(s.Seconds) * time.Second)
		fmt.Fprintf(a.Stdout, "%s  %s  %s to %s\n  %s; %s under all rules\n", cli.Safe(v.Rule),
			cli.Safe(v.Key), s.From.Local().Format(time.DateTime), end.Local().Format("15:04"),
			stepText(s), cli.Grouped(int64(s.Total)))
		if s.Incomplete {
			fmt.Fprintln(a.Stdout, "  more is not known: see docs/surge.md#what-happened-at-1403")
		}
		a.surgesThen(ctx, d, s.From, end)
	}
	for _, is := range v.Denials {
		by := ""
		if is.Policy != "" {
			by = ", policy " + cli.Safe(is.Policy)
		}
		fmt.Fprintf(a.Stdout, "  %s  denied %s: %s%s\n", is.At.Local().Format(time.TimeOnly),
			cli.Count(is.Times, "time"), cli.Safe(is.Why), by)
	}
	return nil
}

// surgesThen prints the findings of a surge between two times.
func (a *app) surgesThen(ctx context.Context, d *cli.Client, from, end time.Time) {
	var v api.SurgeView
	if d.Get(ctx, "/v1/surge", nil, &v) != nil {
		return // the answer is about the key
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Begun.Before(end) && !f.Seen.Before(from) {
			fmt.Fprintf(a.Stdout, "  surge then: %s\n", cli.Safe(f.Sentence))
		}
	}
}

// timeAt returns the time that text means: a local time of day, the newest whose minute is over; a
// local date and time; or RFC 3339.
func (a *app) timeAt(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation("2006-01-02 15:04", text, time.Local); err == nil {
		return t, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return t, fmt.Errorf("--at %s is no time: it is like 14:03, '2026-11-25 14:03' or "+
			"2026-11-25T14:03:00Z", cli.Quote(text))
	}
	now := a.Now().Local()
	t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, time.Local)
	if t.Add(time.Minute).After(now) {
		t = t.AddDate(0, 0, -1)
	}
	return t, nil
}
