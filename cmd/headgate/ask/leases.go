package ask

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// Leases returns `headgate leases`, which lists the leases held under a rule of kind concurrency.
func Leases(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var n int
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
	}
	cmd.Flags().IntVarP(&n, "number", "n", 20, "list `N` keys, at most 1000")
	return cli.View(shared, cmd, "/v1/leases", func(args []string) (url.Values, error) {
		query := url.Values{"rule": {args[0]}, "n": {strconv.Itoa(n)}}
		if len(args) > 1 {
			query.Set("key", args[1])
		}
		return query, nil
	}, a.leases)
}

func (a *app) leases(view api.LeasesView) error {
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
