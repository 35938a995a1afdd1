package ask

import (
	"context"
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/spf13/cobra"
)

// Rules returns `headgate rules`, which lists the rules and their denials.
func Rules(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules and their denials, in shadow mode the denials to expect",
		Long: `List the rules with the requests each has denied, and the keys denied at least once, since the daemon started or the
rule got its present limit. For a rule in shadow mode these are the denials that enforcing it would have caused. Numbers
of keys are estimates, accurate to about 2 %. Of a rule of kind concurrency KEYS are those that hold places now.`,
		Example: `  headgate rules
  headgate rules --json | jq '.rules[] | select(.mode == "shadow") | .denials.denied_key_share'`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command,
			_ []string,
		) error {
			return a.listRules(cmd.Context(), asJSON)
		},
	}
	a.AddAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) listRules(ctx context.Context, asJSON bool) error {
	view := api.RulesView{Rules: []api.RuleView{}}
	if err := a.Fetch(ctx, "/v1/rules", nil, &view); err != nil {
		return err
	}
	if asJSON {
		return cli.WriteJSON(a.Stdout, view)
	}
	if len(view.Rules) == 0 {
		fmt.Fprintln(a.Stdout, "there are no rules")
		return nil
	}
	rows := [][]cli.Cell{cli.Header("RULE", "LIMIT", "PER", "SCOPE", "ACTION", "MODE", "REQUESTS",
		"DENIED", "", "KEYS", "DENIED", "", "SINCE")}
	for _, r := range view.Rules {
		rows = append(rows, a.ruleRow(r))
	}
	a.WriteTable(a.Stdout, rows)
	return nil
}

func (a *app) ruleRow(r api.RuleView) []cli.Cell {
	f := r.Denials
	keys, deniedKeys, share := cli.Grouped(int64(f.Keys)), cli.Grouped(int64(f.DeniedKeys)),
		cli.ShareText(f.DeniedKeyShare)
	if r.Places != nil { // its keys are those that hold places now
		keys, deniedKeys, share = cli.Grouped(int64(r.Places.Keys)), "-", "-"
	}
	return []cli.Cell{
		cli.Left(r.Name), cli.Number(cli.Grouped(r.Limit)), cli.Left(per(r)),
		cli.Left(scopeText(r)), cli.Left(actionText(r)), modeCell(r.Mode),
		// far below 2^63
		cli.Number(cli.Grouped(int64(f.Requests))), cli.Number(cli.Grouped(int64(f.Denied))), cli.Number(cli.ShareText(f.DeniedShare)),
		cli.Number(keys), cli.Number(deniedKeys), cli.Number(share),
		cli.Left(cli.Span(a.Now().Sub(f.Since)) + " ago"),
	}
}

// actionText is the action of a rule: by what it sheds, the times of its blocks, how many clients
// one may deny, and how much longer than exact the retries are.
func actionText(r api.RuleView) string {
	steps := r.Blocks
	if len(steps) == 0 && r.BlockFor > 0 {
		steps = []float64{r.BlockFor}
	}
	var times []string
	for _, s := range steps {
		times = append(times, cli.Span(cli.Seconds(s)))
	}
	if r.Action != mitigation.Block.String() || len(times) == 0 {
		if r.ShedBy != "" {
			return fmt.Sprintf("%s by %s, for %s", r.Action, r.ShedBy,
				cli.Span(cli.Seconds(r.Epoch))) + spreadText(r.RetrySpread)
		}
		return r.Action + spreadText(r.RetrySpread)
	}
	text := r.Action + " " + strings.Join(times, ", ")
	if r.MaxBlast > 0 {
		text += fmt.Sprintf(", up to %s", cli.Count(r.MaxBlast, "client"))
	}
	return text + spreadText(r.RetrySpread)
}

// scopeText is the scope of a rule, and for a rule of all PoPs the division of its limit.
func scopeText(r api.RuleView) string {
	if r.Fairness == "" {
		return r.Scope
	}
	return r.Scope + ", fair to " +
		cli.First(map[string]string{"pops": "PoPs"}[r.Fairness], r.Fairness)
}

// per names the rest of the limit: of a window its length, of a bucket the time of its refill and
// the burst, of places how many all keys hold now; and the parts that are kept for tiers.
func per(r api.RuleView) string {
	text := cli.Span(cli.Seconds(r.Window))
	if r.Places != nil {
		text = "at once a key, " + cli.Grouped(int64(r.Places.Taken)) + " taken" // far below 2^63
	}
	if r.Burst > 0 {
		text += ", " + cli.Grouped(r.Burst) + " at once"
	}
	if r.Delay > 0 {
		text += ", waits up to " + cli.Span(cli.Seconds(r.Delay))
	}
	if r.Counts != "" {
		text += ", counts " + r.Counts
	}
	if r.Siblings > 0 {
		text += fmt.Sprintf(", from %d keys on", r.Siblings)
	}
	for _, s := range r.Reserve {
		text += fmt.Sprintf(", %s for %s", cli.ShareText(s.Share), s.Tier)
	}
	return text
}
