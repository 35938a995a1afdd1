package ask

import (
	"context"
	"fmt"
	"net/url"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/spf13/cobra"
)

const suggestLong = `Estimate the effect of other limits on the traffic a rule has seen since the daemon started or the rule got its
present limit: for each limit the share of cost (of requests, where each costs 1) and the share of keys it would have
denied. Run the rule in shadow mode for about a day, then choose.

Shares are ranges that contain the true value, because the daemon records the traffic of a key in twentieths of the
window. When there are many keys it records a sample of them; the notes below the table name the limits for which that
matters. For exact figures run headgate replay --suggest on an access log.`

// Suggest returns `headgate suggest`, which estimates how much other limits would deny.
func Suggest(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "suggest RULE",
		Short: "Estimate what other limits would deny, to choose one",
		Long:  suggestLong,
		Example: `  headgate suggest per-ip
  headgate suggest per-ip --json | jq '.rows[] | select(.cost_share.high < 0.01) | .limit'`,
		Args:              cli.Want("RULE"),
		ValidArgsFunction: a.completeRule,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.suggest(cmd.Context(), args[0], asJSON) },
	}
	a.AddAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) suggest(ctx context.Context, rule string, asJSON bool) error {
	var view api.SuggestView
	if err := a.Fetch(ctx, "/v1/suggest", url.Values{"rule": {rule}}, &view); err != nil {
		return err
	}
	if asJSON {
		return cli.WriteJSON(a.Stdout, view)
	}
	a.printSuggest(view)
	return nil
}

func (a *app) printSuggest(v api.SuggestView) {
	fmt.Fprintf(a.Stdout, "%s  %s per %s, %s, %s\n", cli.Safe(v.Rule), cli.Grouped(v.Limit), cli.Span(cli.Seconds(v.Window)), cli.Safe(v.Action), cli.Safe(v.Mode))
	about := ""
	if v.KeysError > 0 {
		about = "about "
	}
	fmt.Fprintf(a.Stdout, "cost of %s in %s, from %s%s\n\n",
		cli.Grouped(int64(v.Offered)), cli.Span(v.Until.Sub(v.Since)), about, cli.Count(v.Keys, "key")) // far below 2^63
	if len(v.Rows) == 0 {
		fmt.Fprintln(a.Stdout, "no data yet: keys are sampled up to a window after their requests")
		return
	}
	rows := [][]cli.Cell{cli.Header("LIMIT", "COST DENIED", "KEYS DENIED", "")}
	for _, r := range v.Rows {
		rows = append(rows, []cli.Cell{cli.Number(cli.Grouped(r.Limit)), cli.Number(rangeText(r.Cost, r.AtLeast)), cli.Number(rangeText(r.Keys, r.AtLeast)), cli.Left(r.Note)})
	}
	a.WriteTable(a.Stdout, rows)
	for _, line := range suggestCaveats(v) {
		fmt.Fprintln(a.Stdout, line)
	}
}

// rangeText writes a range of shares, as one where both ends read alike.
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

// suggestCaveats names the limits of the table's evidence, a line each.
func suggestCaveats(v api.SuggestView) (lines []string) {
	if v.Action == mitigation.Block.String() {
		lines = append(lines, "The rule blocks: for limits other than its own the share of cost is an estimate, accurate to a few percent.")
	}
	if v.Shared {
		lines = append(lines, "Several nodes share this rule: shares refer to the traffic at all nodes of the keys seen by this one.")
	}
	if v.Sample.AllFrom > 0 {
		lines = append(lines, fmt.Sprintf("Below a limit of %s the figures come from a sample of %s keys.",
			cli.Grouped(int64(v.Sample.AllFrom)), cli.Grouped(int64(v.Sample.Keys))))
	}
	if v.Sample.BlindTo > 0 {
		lines = append(lines, fmt.Sprintf("The sample was full: keys with a cost of less than %s in a window may be missing.", cli.Grouped(v.Sample.BlindTo)))
	}
	if v.Sample.LateLooks > 0 {
		lines = append(lines, fmt.Sprintf("The daemon was busy: %s of keys came too late to include all their requests.", cli.Count(v.Sample.LateLooks, "reading")))
	}
	return lines
}
