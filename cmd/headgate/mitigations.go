package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/mitigation"
)

// pageSize is how many flags one answer is asked to hold.
const pageSize = 500

// mitigationsFlags are the options of `headgate mitigations`.
type mitigationsFlags struct {
	rule   string
	n      int // 0: all
	cursor string
	json   bool
}

func mitigationsCommand(a *app) *cobra.Command {
	var f mitigationsFlags
	cmd := &cobra.Command{
		Use:   "mitigations",
		Short: "List whom headgate limits now, and by whose word",
		Long: `List the live flags: the keys that are being shed or blocked, or that somebody allowed by hand, with the
share of their requests that is refused, whose word that is, and how long it holds.`,
		Example: `  headgate mitigations --rule login
  headgate mitigations -n 0 --json | jq '.mitigations[].key'`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mitigations(cmd.Context(), f) },
	}
	a.addAdminFlags(cmd)
	a.addRuleFlag(cmd, &f.rule)
	cmd.Flags().IntVarP(&f.n, "number", "n", 50, "list at most `N`; 0 lists all")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "go on at an earlier list's next_cursor, this `word`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *app) mitigations(ctx context.Context, f mitigationsFlags) error {
	if f.n < 0 {
		return errors.New("mitigations: -n must not be negative")
	}
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	list, err := client.mitigations(ctx, f)
	if err != nil {
		return client.explainRefusal(ctx, err, f.rule)
	}
	if f.json {
		return writeJSON(a.stdout, list)
	}
	a.printMitigations(list)
	return nil
}

// mitigations fetches as many pages as f asks for. Their number is bounded by the flags that the
// daemon says it has.
func (c *adminClient) mitigations(ctx context.Context, f mitigationsFlags) (edge.MitigationsView, error) {
	all := edge.MitigationsView{Mitigations: []edge.MitigationView{}, NextCursor: f.cursor}
	for {
		query := url.Values{"n": {strconv.Itoa(pageLeft(f.n, len(all.Mitigations)))}}
		setIf(query, "rule", f.rule)
		setIf(query, "cursor", all.NextCursor)
		var page edge.MitigationsView
		if err := c.get(ctx, "/v1/mitigations", query, &page); err != nil {
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

// pageLeft returns how many flags to ask for next when got of n are here; n 0 means all.
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

func (a *app) printMitigations(list edge.MitigationsView) {
	if len(list.Mitigations) == 0 {
		fmt.Fprintln(a.stdout, "nobody is being limited")
		return
	}
	rows := [][]cell{header("RULE", "KEY", "ACTION", "RATIO", "OFFERED", "LIMIT", "VIEW", "LEFT", "SOURCE", "REASON")}
	now := a.now()
	for _, m := range list.Mitigations {
		rows = append(rows, []cell{
			left(m.Rule), left(m.Key),
			{text: actionIn(m), style: stateStyle(m.Action)},
			number(ratio(m.Action, m.Ratio)), number(strconv.FormatInt(m.Offered, 10)), number(strconv.FormatInt(m.Limit, 10)),
			left(m.View), number(timeLeft(m.Expires, now)), left(m.Source), left(m.Reason),
		})
	}
	a.writeTable(a.stdout, rows)
	if shown := len(list.Mitigations); shown < list.Total {
		fmt.Fprintf(a.stderr, "%d of %d shown; -n 0 shows all\n", shown, list.Total)
	}
}

// actionIn renders a flag's action, and that it is not carried out where the rule's mode is another.
func actionIn(m edge.MitigationView) string {
	if m.Mode == "" || m.Mode == mitigation.Enforce.String() {
		return safe(m.Action)
	}
	return safe(m.Action + " (" + m.Mode + ")")
}

// ratio renders a flag's drop ratio; an allowed key is never refused, so has none.
func ratio(action string, r float64) string {
	if action == "allow" {
		return "-"
	}
	return strconv.FormatFloat(r, 'f', 2, 64)
}

// timeLeft renders how long until t; the zero time is never.
func timeLeft(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return span(max(t.Sub(now), 0).Round(time.Second))
}
