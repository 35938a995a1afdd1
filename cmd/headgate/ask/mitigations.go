package ask

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// pageSize is the number of mitigations requested per page.
const pageSize = 500

// mitigationsFlags are the options of `headgate mitigations`.
type mitigationsFlags struct {
	rule   string
	n      int // 0: all
	cursor string
	json   bool
}

// Mitigations returns `headgate mitigations`, which lists the mitigations in force.
func Mitigations(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f mitigationsFlags
	cmd := &cobra.Command{
		Use:   "mitigations",
		Short: "List the mitigations in force: blocked, shed and allowed keys",
		Long: `List the mitigations in force: the keys that are blocked, shed in part, or allowed
by an operator. RATIO is the share of the key's requests that is denied, SOURCE is the node,
ring, PoP or operator that set the mitigation, LEFT is the time until it ends.`,
		Example: `  headgate mitigations --rule login
  headgate mitigations -n 0 --json | jq '.mitigations[].key'`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mitigations(cmd.Context(), f) },
	}
	a.AddAdminFlags(cmd)
	a.addRuleFlag(cmd, &f.rule)
	cmd.Flags().IntVarP(&f.n, "number", "n", 50, "list at most `N`; 0 lists all")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "continue after the `CURSOR` that an earlier "+
		"list printed as next_cursor")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *app) mitigations(ctx context.Context, f mitigationsFlags) error {
	if f.n < 0 {
		return errors.New("mitigations: -n must not be negative")
	}
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	list, err := fetchMitigations(ctx, client, f)
	if err != nil {
		return client.ExplainRefusal(ctx, err, f.rule)
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, list)
	}
	a.printMitigations(list)
	return nil
}

// fetchMitigations fetches as many pages as f asks for. The number is bounded by the daemon's count
// of flags.
func fetchMitigations(
	ctx context.Context, c *cli.Client, f mitigationsFlags,
) (api.MitigationsView, error) {
	all := api.MitigationsView{Mitigations: []api.MitigationView{}, NextCursor: f.cursor}
	for {
		query := url.Values{"n": {strconv.Itoa(pageLeft(f.n, len(all.Mitigations)))}}
		setIf(query, "rule", f.rule)
		setIf(query, "cursor", all.NextCursor)
		var page api.MitigationsView
		if err := c.Get(ctx, "/v1/mitigations", query, &page); err != nil {
			return all, err
		}
		all.Mitigations = append(all.Mitigations, page.Mitigations...)
		all.Total, all.NextCursor = page.Total, page.NextCursor
		full := f.n > 0 && len(all.Mitigations) >= f.n
		if page.NextCursor == "" || full || len(page.Mitigations) == 0 {
			return all, nil
		}
	}
}

// pageLeft returns how many mitigations to request next when got of n are here; n 0 means all.
func pageLeft(n, got int) int {
	if n == 0 {
		return pageSize
	}
	return min(pageSize, n-got)
}

func setIf(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func (a *app) printMitigations(list api.MitigationsView) {
	if len(list.Mitigations) == 0 {
		fmt.Fprintln(a.Stdout, "no mitigations in force")
		return
	}
	rows := [][]cli.Cell{cli.Header("RULE", "KEY", "ACTION", "RATIO", "OFFERED", "LIMIT", "VIEW",
		"LEFT", "SOURCE", "REASON")}
	now := a.Now()
	for _, m := range list.Mitigations {
		rows = append(rows, []cli.Cell{
			cli.Left(m.Rule), cli.Left(m.Key),
			{Text: actionIn(m), Style: cli.StateStyle(m.Action)},
			cli.Number(cli.Ratio(m.Action, m.Ratio)), cli.Number(m.Offered.String()),
			cli.Number(m.Limit.String()),
			cli.Left(m.View), cli.Number(timeLeft(m.Expires, now)), cli.Left(m.Source),
			cli.Left(reasonIn(m)),
		})
	}
	a.WriteTable(a.Stdout, rows)
	if shown := len(list.Mitigations); shown < list.Total {
		fmt.Fprintf(a.Stderr, "%d of %d shown; -n 0 shows all\n", shown, list.Total)
	}
}

// reasonIn renders the reason of a flag, with the number of a block in a row, or of the clients
// whom a block would deny.
func reasonIn(m api.MitigationView) string {
	more := ""
	switch {
	case m.Blast > 0:
		more = fmt.Sprintf("a block would deny about %d clients", m.Blast)
	case m.Strikes > 0 && m.Action == mitigation.Block.String():
		more = fmt.Sprintf("block %d in a row", m.Strikes)
	default:
		return m.Reason
	}
	if m.Reason == "" {
		return more
	}
	return m.Reason + ", " + more
}

// actionIn renders a flag's action, marked as not carried out in another mode than enforce.
func actionIn(m api.MitigationView) string {
	if m.Mode == "" || m.Mode == mitigation.Enforce.String() {
		return cli.Safe(m.Action)
	}
	return cli.Safe(m.Action + " (" + m.Mode + ")")
}

// timeLeft renders how long until t; the zero time is never.
func timeLeft(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return cli.Span(max(t.Sub(now), 0).Round(time.Second))
}
