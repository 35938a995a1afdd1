package ask

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/spf13/cobra"
)

// leasesFlags are the options of `headgate leases`.
type leasesFlags struct {
	n    int
	json bool
}

// Leases returns `headgate leases`, which lists the leases held under a rule of kind concurrency.
func Leases(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f leasesFlags
	cmd := &cobra.Command{
		Use:   "leases RULE [KEY]",
		Short: "List the keys that hold places of a concurrency limit, or the leases of a key",
		Long: `List the keys that hold most places under a rule of kind concurrency, with the age
of the oldest lease of each; with KEY the leases of that key, oldest first. A lease ends at its
end unless it is released or renewed before.`,
		Example: `  headgate leases exports
  headgate leases exports customer-7 --json | jq -r '.leases[].lease'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return cli.Usage(cmd, fmt.Errorf("leases wants RULE, or RULE and KEY, got %s",
					cli.Count(len(args), "argument")))
			}
			return nil
		},
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.leases(cmd.Context(), args, f)
		},
	}
	a.AddAdminFlags(cmd)
	cmd.Flags().IntVarP(&f.n, "number", "n", 20, "list `N` keys, at most 1000")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *app) leases(ctx context.Context, args []string, f leasesFlags) error {
	query := url.Values{"rule": {args[0]}, "n": {strconv.Itoa(f.n)}}
	if len(args) > 1 {
		query.Set("key", args[1])
	}
	var view api.LeasesView
	if err := a.Fetch(ctx, "/v1/leases", query, &view); err != nil {
		return err
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, view)
	}
	if view.Key != "" {
		fmt.Fprintf(a.Stdout, "%s  %s: %d of %d places taken\n", cli.Safe(view.Rule),
			cli.Safe(view.Key), view.Taken, view.Limit)
	} else {
		fmt.Fprintf(a.Stdout, "%s: %s taken by %s, at most %d by one\n", cli.Safe(view.Rule),
			cli.Count(view.Taken, "place"), cli.Count(view.Keys, "key"), view.Limit)
	}
	if rows := leaseRows(&view); len(rows) > 1 {
		a.WriteTable(a.Stdout, rows)
	}
	return nil
}

// leaseRows is the table of the keys, or of the leases of a key.
func leaseRows(v *api.LeasesView) [][]cli.Cell {
	age := func(since time.Time) cli.Cell {
		return cli.Number(cli.Span(max(0, v.Now.Sub(since)).Round(time.Second)))
	}
	if v.Key != "" {
		rows := [][]cli.Cell{cli.Header("LEASE", "PLACES", "HELD FOR", "ENDS IN")}
		for _, l := range v.Leases {
			rows = append(rows, []cli.Cell{
				cli.Left(l.Lease),
				cli.Number(strconv.FormatInt(l.Places, 10)), age(l.Since),
				cli.Number(timeLeft(l.Until, v.Now)),
			})
		}
		return rows
	}
	rows := [][]cli.Cell{cli.Header("KEY", "PLACES", "OLDEST HELD FOR")}
	for _, h := range v.Held {
		key := h.Key
		if h.Cut {
			key += "…"
		}
		rows = append(rows, []cli.Cell{
			cli.Left(key),
			cli.Number(strconv.FormatInt(h.Places, 10)), age(h.Oldest),
		})
	}
	return rows
}
