package ask

import (
	"context"
	"fmt"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/spf13/cobra"
)

// Rules returns `headgate rules`, which lists the rules and their refusals.
func Rules(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules, and what each refuses or, in shadow, would",
		Long: `List the rules with what each has refused since the daemon started or the rule got its limit: requests, and keys
that were refused at least once. In shadow that is what enforcing it would have refused. Keys are estimated, to about
2 % of their number.`,
		Example: `  headgate rules
  headgate rules --json | jq '.rules[] | select(.mode == "shadow") | .refusals.key_share'`,
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
	rows := [][]cli.Cell{cli.Header("RULE", "LIMIT", "PER", "SCOPE", "ACTION", "MODE", "REQUESTS", "REFUSED", "", "KEYS", "REFUSED", "", "SINCE")}
	for _, r := range view.Rules {
		rows = append(rows, a.ruleRow(r))
	}
	a.WriteTable(a.Stdout, rows)
	return nil
}

func (a *app) ruleRow(r api.RuleView) []cli.Cell {
	f := r.Refusals
	mode := cli.Cell{Text: cli.Safe(r.Mode)}
	if r.Mode != mitigation.Enforce.String() {
		mode.Style = cli.Yellow
	}
	return []cli.Cell{
		cli.Left(r.Name), cli.Number(cli.Grouped(r.Limit)), cli.Left(cli.Span(cli.Seconds(r.Window))), cli.Left(r.Scope), cli.Left(r.Action), mode,
		cli.Number(cli.Grouped(int64(f.Asked))), cli.Number(cli.Grouped(int64(f.Requests))), cli.Number(cli.ShareText(f.RequestShare)), // far below 2^63
		cli.Number(cli.Grouped(int64(f.KeysMet))), cli.Number(cli.Grouped(int64(f.Keys))), cli.Number(cli.ShareText(f.KeyShare)),
		cli.Left(cli.Span(a.Now().Sub(f.Since)) + " ago"),
	}
}
