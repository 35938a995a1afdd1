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

const suggestLong = `Say what other limits than its own would have refused of what a rule was asked, since the daemon started or the
rule got its limit: a table from limit to share of cost (requests, where each costs 1) and share of keys. Let the rule
run in shadow for a day or so, then choose.

Each share is a range in which the truth lies, because the daemon knows what its keys asked for by twentieths of the
window. It remembers some of the keys in full and lets them stand for the others, if there are many; the last lines
say from where on that matters. For an answer to the request, ask a log: headgate replay --suggest.`

// Suggest returns `headgate suggest`, which says how much other limits would refuse.
func Suggest(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "suggest RULE",
		Short: "Say what other limits would refuse, so as to choose one",
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
	fmt.Fprintf(a.Stdout, "%s asked for in %s, by %s%s\n\n",
		cli.Grouped(int64(v.Offered)), cli.Span(v.Until.Sub(v.Since)), about, cli.Count(v.Keys, "key")) // far below 2^63
	if len(v.Rows) == 0 {
		fmt.Fprintln(a.Stdout, "nothing is known yet: keys are looked at a part of the window later")
		return
	}
	rows := [][]cli.Cell{cli.Header("LIMIT", "REFUSED OF COST", "OF KEYS", "")}
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
		lines = append(lines, "The rule blocks: for other limits than its own the share of cost is an estimate, to a few percent of it.")
	}
	if v.Shared {
		lines = append(lines, "Nodes share the rule: the shares are of what the keys that this one met asked all of them for.")
	}
	if v.Sample.AllFrom > 0 {
		lines = append(lines, fmt.Sprintf("Below a limit of %s the keys are a sample, of %s.",
			cli.Grouped(int64(v.Sample.AllFrom)), cli.Grouped(int64(v.Sample.Keys))))
	}
	if v.Sample.BlindTo > 0 {
		lines = append(lines, fmt.Sprintf("Room was short: keys that asked for less than %s in a window may be missing.", cli.Grouped(v.Sample.BlindTo)))
	}
	if v.Sample.LateLooks > 0 {
		lines = append(lines, fmt.Sprintf("The daemon was busy: %s a key was looked at too late to see all of it.", cli.Count(v.Sample.LateLooks, "time")))
	}
	return lines
}
