package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// topFlags are the options of `headgate top`.
type topFlags struct {
	rule  string
	sort  string // one of edge.TopOrders
	n     int
	json  bool
	live  bool
	once  bool
	every time.Duration
}

const topLong = `Show the keys of each rule with the most traffic, their share of the limit, and
the mitigation in force on them. On a terminal the list is refreshed every second until you press
q or ctrl-C; the keys o, a, s, r and u sort it by offered cost, admitted cost, share of the
limit, rule, or the part of the limit that is used, like --sort. Elsewhere it is printed once.
Keys of one kind have the columns of that kind: of buckets the tokens taken and how full they
are, of concurrency limits the places held and since when. Of several kinds, NOW is the state of
a key in the terms of its rule.`

// Top returns `headgate top`, which shows the heaviest keys.
func Top(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the keys with the most traffic, live on a terminal",
		Long:  topLong,
		Example: `  headgate top --rule per-ip
  headgate top --sort share
  headgate top --sort used --rule exports
  headgate top --once -n 100
  headgate top --json | jq '.top[0]'`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.top(cmd.Context(), f) },
	}
	a.AddAdminFlags(cmd)
	a.addRuleFlag(cmd, &f.rule)
	flags := cmd.Flags()
	flags.StringVar(&f.sort, "sort", api.TopOrders[0],
		"sort by `COLUMN`: "+cli.OneOf(api.TopOrders[:]))
	flags.IntVarP(&f.n, "number", "n", 20, "show `N` keys, at most 1000")
	flags.BoolVar(&f.json, "json", false, "print JSON, once")
	flags.BoolVar(&f.once, "once", false, "print once, even on a terminal")
	flags.BoolVar(&f.live, "live", false, "keep refreshing, even when stdout is not a terminal")
	flags.DurationVar(&f.every, "every", time.Second, "refresh every `DURATION`, at least 100ms")
	cmd.MarkFlagsMutuallyExclusive("live", "once", "json")
	if err := cmd.RegisterFlagCompletionFunc("sort",
		cobra.FixedCompletions(api.TopOrders[:], cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was added above
	}
	return cmd
}

func (a *app) top(ctx context.Context, f topFlags) error {
	if f.n < 1 {
		return errors.New("top: -n must be at least 1")
	}
	if !slices.Contains(api.TopOrders[:], f.sort) {
		return fmt.Errorf("top: --sort is %s, not %s",
			cli.OneOf(api.TopOrders[:]), cli.Quote(f.sort))
	}
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	if f.live || cli.IsTerminal(a.Stdout) && !f.once && !f.json {
		return a.watchTop(ctx, client, f)
	}
	view, err := fetchTop(ctx, client, f)
	if err != nil {
		return client.ExplainRefusal(ctx, err, f.rule)
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, view)
	}
	a.printTop(a.Stdout, view)
	return nil
}

// fetchTop fetches as many keys as f asks for, in f's order.
func fetchTop(ctx context.Context, c *cli.Client, f topFlags) (api.TopsView, error) {
	query := url.Values{"n": {strconv.Itoa(f.n)}}
	setIf(query, "rule", f.rule)
	if f.sort != api.TopOrders[0] { // daemons of before know no other
		query.Set("sort", f.sort)
	}
	view := api.TopsView{Top: []api.TopView{}}
	err := c.Get(ctx, "/v1/top", query, &view)
	return view, err
}

func (a *app) printTop(w io.Writer, view api.TopsView) {
	if len(view.Top) == 0 {
		fmt.Fprintln(w, "no key with notable traffic")
		return
	}
	columns := columnsOf(view.Top)
	header := make([]string, len(columns))
	rows := make([][]cli.Cell, 1, len(view.Top)+1)
	for i, c := range columns {
		header[i] = c.name
	}
	rows[0] = cli.Header(header...)
	for _, t := range view.Top {
		row := make([]cli.Cell, len(columns))
		for i, c := range columns {
			row[i] = c.cell(a, t)
		}
		rows = append(rows, row)
	}
	a.WriteTable(w, rows)
}
