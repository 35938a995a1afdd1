package ask

import (
	"context"
	"fmt"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
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
of keys are estimates, accurate to about 2 %.`,
		Example: `  headgate rules
  headgate rules --json | jq '.rules[] | select(.mode == "shadow") | .denials.denied_key_share'`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listRules(cmd.Context(), asJSON) },
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
	rows := [][]cli.Cell{cli.Header("RULE", "LIMIT", "PER", "SCOPE", "ACTION", "MODE", "REQUESTS", "DENIED", "", "KEYS", "DENIED", "", "SINCE")}
	for _, r := range view.Rules {
		rows = append(rows, a.ruleRow(r))
	}
	a.WriteTable(a.Stdout, rows)
	return nil
}

func (a *app) ruleRow(r api.RuleView) []cli.Cell {
	f := r.Denials
	return []cli.Cell{
		cli.Left(r.Name), cli.Number(cli.Grouped(r.Limit)), cli.Left(per(r)), cli.Left(scopeText(r)), cli.Left(r.Action), modeCell(r.Mode),
		cli.Number(cli.Grouped(int64(f.Requests))), cli.Number(cli.Grouped(int64(f.Denied))), cli.Number(cli.ShareText(f.DeniedShare)), // far below 2^63
		cli.Number(cli.Grouped(int64(f.Keys))), cli.Number(cli.Grouped(int64(f.DeniedKeys))), cli.Number(cli.ShareText(f.DeniedKeyShare)),
		cli.Left(cli.Span(a.Now().Sub(f.Since)) + " ago"),
	}
}

// scopeText is the scope of a rule, and for a rule of all PoPs the division of its limit.
func scopeText(r api.RuleView) string {
	if r.Fairness == "" {
		return r.Scope
	}
	return r.Scope + ", fair to " + cli.First(map[string]string{"pops": "PoPs"}[r.Fairness], r.Fairness)
}

// per names the window of a rule, and the burst of a bucket; of places, how many are taken.
func per(r api.RuleView) string {
	if r.Places != nil {
		return fmt.Sprintf("at once, %s taken", cli.Grouped(int64(r.Places.Taken))) // far below 2^63
	}
	window := cli.Span(cli.Seconds(r.Window))
	if r.Burst > 0 {
		return window + " burst " + cli.Grouped(r.Burst)
	}
	return window
}
