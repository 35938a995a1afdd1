package ask

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

const suggestLong = `Estimate the effect of other limits on the traffic a rule has seen
since the daemon started or the rule got its present limit: for each limit the share of cost (of
requests, where each costs 1) and the share of keys it would have denied. Of a bucket the table
tries other bursts, of kind concurrency fewer places; of a pool it shows how busy it was. Run the
rule in shadow mode for about a day, then choose.

Shares are ranges that contain the true value, because the daemon records the traffic of a key in
twentieths of the window. When there are many keys it records a sample of them; the notes below
the table name the limits for which that matters. For exact figures run headgate replay --suggest
on an access log.`

// Suggest returns `headgate suggest`, which estimates how much other limits would deny.
func Suggest(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "suggest RULE",
		Short: "Estimate what other limits would deny, to choose one",
		Long:  suggestLong,
		Example: `  headgate suggest per-ip
  headgate suggest per-ip --json | jq '.rows[] | select(.cost_share.high < 0.01) | .limit'`,
		Args:              cli.Want("RULE"),
		ValidArgsFunction: a.completeRule,
	}
	return cli.View(shared, cmd, "/v1/suggest", func(args []string) (url.Values, error) {
		return url.Values{"rule": {args[0]}}, nil
	}, a.suggest)
}

func (a *app) suggest(v api.SuggestView) error {
	if v.Pool != nil {
		a.printPoolSeen(v)
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s  %s, %s, %s\n", cli.Safe(v.Rule), suggestLimit(v),
		cli.Safe(v.Action), cli.Safe(v.Mode))
	about := ""
	if v.KeysError > 0 {
		about = "about "
	}
	fmt.Fprintf(a.Stdout, "cost of %s in %s, from %s%s%s\n\n",
		// far below 2^63
		cli.Grouped(int64(v.Offered)), cli.Span(v.Until.Sub(v.Since)), about,
		cli.Count(v.Keys, "key"), suggestSeen(v))
	if len(v.Rows) == 0 {
		fmt.Fprintln(a.Stdout, "no data yet: keys are sampled up to a window after their requests")
		return nil
	}
	column := map[string]string{
		mitigation.Bucket.String():      "BURST",
		mitigation.Concurrency.String(): "PLACES",
	}[v.Kind]
	rows := [][]cli.Cell{cli.Header(cli.First(column, "LIMIT"), "COST DENIED", "KEYS DENIED", "")}
	for _, r := range v.Rows {
		rows = append(rows, []cli.Cell{
			cli.Number(cli.Grouped(r.Limit)),
			cli.Number(rangeText(r.Cost, r.AtLeast)),
			cli.Number(rangeText(r.Keys, r.AtLeast)), cli.Left(r.Note),
		})
	}
	a.WriteTable(a.Stdout, rows)
	for _, line := range suggestCaveats(v) {
		fmt.Fprintln(a.Stdout, line)
	}
	return nil
}

// rangeText writes a range of shares, as a single share where both ends read alike.
func rangeText(r api.ShareRange, atLeast bool) string {
	low, high := cli.ShareText(r.Low), cli.ShareText(r.High)
	if low != high {
		high = low[:len(low)-len(" %")] + " to " + high
	}
	if atLeast {
		return ">= " + high
	}
	return high
}
