package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/mitigation"
)

func rulesCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules, and what each refuses or, in shadow, would",
		Long: `List the rules with what each has refused since the daemon started or the rule got its limit: requests, and keys
that were refused at least once. In shadow that is what enforcing it would have refused. Keys are estimated, to about
2 % of their number.`,
		Example: `  headgate rules
  headgate rules --json | jq '.rules[] | select(.mode == "shadow") | .refusals.key_share'`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listRules(cmd.Context(), asJSON) },
	}
	a.addAdminFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) listRules(ctx context.Context, asJSON bool) error {
	view := edge.RulesView{Rules: []edge.RuleView{}}
	if err := a.fetch(ctx, "/v1/rules", nil, &view); err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, view)
	}
	if len(view.Rules) == 0 {
		fmt.Fprintln(a.stdout, "there are no rules")
		return nil
	}
	rows := [][]cell{header("RULE", "LIMIT", "PER", "SCOPE", "ACTION", "MODE", "REQUESTS", "REFUSED", "", "KEYS", "REFUSED", "", "SINCE")}
	for _, r := range view.Rules {
		rows = append(rows, a.ruleRow(r))
	}
	a.writeTable(a.stdout, rows)
	return nil
}

func (a *app) ruleRow(r edge.RuleView) []cell {
	f := r.Refusals
	mode := cell{text: safe(r.Mode)}
	if r.Mode != mitigation.Enforce.String() {
		mode.style = yellow
	}
	return []cell{
		left(r.Name), number(grouped(r.Limit)), left(span(seconds(r.Window))), left(r.Scope), left(r.Action), mode,
		number(grouped(int64(f.Asked))), number(grouped(int64(f.Requests))), number(shareText(f.RequestShare)), // far below 2^63
		number(grouped(int64(f.KeysMet))), number(grouped(int64(f.Keys))), number(shareText(f.KeyShare)),
		left(span(a.now().Sub(f.Since)) + " ago"),
	}
}
