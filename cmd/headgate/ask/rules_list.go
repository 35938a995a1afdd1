package ask

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// Rules returns `headgate rules`, which lists the rules and their denials.
func Rules(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules and their denials, in shadow mode the denials to expect",
		Long: `List the rules with the requests each has denied, and the keys denied at least
once, since the daemon started or the rule got its present limit. For a rule in shadow mode these
are the denials that enforcing it would have caused. Numbers of keys are estimates, accurate to
about 2 %. Of a rule of kind concurrency KEYS are those that hold places now. SETTINGS are the
fields of headgate.yaml that differ from their defaults.`,
		Example: `  headgate rules
  headgate rules --json | jq '.rules[] | select(.mode == "shadow") | .denials.denied_key_share'`,
		Args: cli.Want(),
	}
	return cli.View(shared, cmd, "/v1/rules", nil, a.listRules)
}

func (a *app) listRules(view api.RulesView) error {
	if len(view.Rules) == 0 {
		fmt.Fprintln(a.Stdout, "there are no rules")
		return nil
	}
	rows := [][]cli.Cell{cli.Header("RULE", "LIMIT", "PER", "SCOPE", "ACTION", "MODE", "REQUESTS",
		"DENIED", "", "KEYS", "DENIED", "", "SINCE", "SETTINGS")}
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
		cli.Left(r.Name),
		cli.Number(cli.Grouped(r.Limit)),
		cli.Left(per(r)),
		cli.Left(r.Scope),
		cli.Left(r.Action),
		modeCell(r.Mode),
		// far below 2^63
		cli.Number(cli.Grouped(int64(f.Requests))),
		cli.Number(cli.Grouped(int64(f.Denied))),
		cli.Number(cli.ShareText(f.DeniedShare)),
		cli.Number(keys),
		cli.Number(deniedKeys),
		cli.Number(share),
		cli.Left(cli.Span(a.Now().Sub(f.Since)) + " ago"),
		cli.Left(settingsText(r)),
	}
}

// settingsText lists the settings of a rule as in the file, but the settings of other columns.
func settingsText(r api.RuleView) string {
	var all []string
	for _, s := range r.Settings {
		if s.Name != "scope" && s.Name != "action" && s.Name != "mode" {
			text := s.Name + ": " + s.Value
			if s.Name == "numbers" {
				text += fmt.Sprintf(" (%d different)", r.Numbers)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// per names the rest of the limit: the window, or of places the number all keys hold now; and the
// narrower keys needed first.
func per(r api.RuleView) string {
	if r.Siblings > 0 {
		return fmt.Sprintf("%s, from %d keys on", cli.Span(cli.Seconds(r.Window)), r.Siblings)
	}
	if r.Places != nil {
		return "at once a key, " + cli.Grouped(int64(r.Places.Taken)) + " taken" // far below 2^63
	}
	return cli.Span(cli.Seconds(r.Window))
}
