package main

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

	"github.com/headgate-dev/headgate/edge"
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

func topCommand(a *app) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the heaviest keys, live on a terminal",
		Long: `Show the heaviest keys of each rule, how much of their limit they ask for and what is done about it.
On a terminal the list is drawn anew each second until q or ctrl-C, and the keys o, a, s and r sort it by what was
offered, what was admitted, the share of the limit, or the rule, as --sort does; elsewhere it is printed once.`,
		Example: `  headgate top --rule per-ip
  headgate top --sort share
  headgate top --once -n 100
  headgate top --json | jq '.top[0]'`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.top(cmd.Context(), f) },
	}
	a.addAdminFlags(cmd)
	a.addRuleFlag(cmd, &f.rule)
	flags := cmd.Flags()
	flags.StringVar(&f.sort, "sort", edge.TopOrders[0], "the first in this `order`: "+oneOf(edge.TopOrders[:]))
	flags.IntVarP(&f.n, "number", "n", 20, "show `N` keys, at most 1000")
	flags.BoolVar(&f.json, "json", false, "print JSON, once")
	flags.BoolVar(&f.once, "once", false, "print once, on a terminal too")
	flags.BoolVar(&f.live, "live", false, "keep drawing, even where stdout is no terminal")
	flags.DurationVar(&f.every, "every", time.Second, "draw anew after this `time`, at least 100ms")
	cmd.MarkFlagsMutuallyExclusive("live", "once", "json")
	if err := cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(edge.TopOrders[:], cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was added above
	}
	return cmd
}

func (a *app) top(ctx context.Context, f topFlags) error {
	if f.n < 1 {
		return errors.New("top: -n must be at least 1")
	}
	if !slices.Contains(edge.TopOrders[:], f.sort) {
		return fmt.Errorf("top: --sort is %s, not %s", oneOf(edge.TopOrders[:]), quote(f.sort))
	}
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	if f.live || isTerminal(a.stdout) && !f.once && !f.json {
		return a.watchTop(ctx, client, f)
	}
	view, err := client.top(ctx, f)
	if err != nil {
		return client.explainRefusal(ctx, err, f.rule)
	}
	if f.json {
		return writeJSON(a.stdout, view)
	}
	a.printTop(a.stdout, view)
	return nil
}

// top fetches as many keys as f asks for, in its order.
func (c *adminClient) top(ctx context.Context, f topFlags) (edge.TopsView, error) {
	query := url.Values{"n": {strconv.Itoa(f.n)}}
	setIf(query, "rule", f.rule)
	if f.sort != edge.TopOrders[0] { // daemons of before know no other
		query.Set("sort", f.sort)
	}
	view := edge.TopsView{Top: []edge.TopView{}}
	err := c.get(ctx, "/v1/top", query, &view)
	return view, err
}

func (a *app) printTop(w io.Writer, view edge.TopsView) {
	if len(view.Top) == 0 {
		fmt.Fprintln(w, "no key stands out")
		return
	}
	rows := [][]cell{header("RULE", "KEY", "OFFERED", "ADMITTED", "LIMIT", "SHARE", "STATE")}
	for _, t := range view.Top {
		rows = append(rows, []cell{
			left(t.Rule), left(t.Key),
			number(strconv.FormatInt(t.Offered, 10)), number(strconv.FormatInt(t.Admitted, 10)), number(strconv.FormatInt(t.Limit, 10)),
			number(strconv.FormatFloat(t.Share*100, 'f', 0, 64) + " %"),
			{text: safe(t.State), style: stateStyle(t.State)},
		})
	}
	a.writeTable(w, rows)
}
