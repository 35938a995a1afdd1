package ask

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// limitFlags are the options of `headgate limit set` and `headgate limit import`.
type limitFlags struct {
	changeFlags
	request api.LimitRequest // Limit, Burst, TTL and Until
	shown   bool
	whom
}

// Limit returns `headgate limit`, which gives keys limits of their own by hand.
func Limit(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "limit",
		Short: "Give a key a limit of its own by hand, for a limited time",
	}
	cmd.AddCommand(a.limitSet(), a.limitList(), a.limitUnset(), a.limitImport())
	return cmd
}

// addEnds gives cmd the options of when a limit ends.
func (f *limitFlags) addEnds(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.request.TTL, "for", "", "end after `DURATION`: 90s, 36h, 7d")
	cmd.Flags().StringVar(&f.request.Until, "until", "", "end at `TIME`: 2027-01-31, or RFC 3339")
}

func (a *app) limitSet() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use:   "set RULE KEY",
		Short: "Set the limit of a key, on every node",
		Long: `Set the limit of a key in place of the rule's, and of its number in a table, on every
node. What was admitted stays admitted. KEY is a key, a network such as 10.0.0.0/8, or "*": whoever
has no number. Needs the admin token when one is set.`,
		Example: `  headgate limit set web --header x-api-key=k-3 --limit 3000 --for 7d
  headgate limit set per-ip 203.0.113.0/24 --limit 20 --until 2027-01-31`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setLimit(cmd.Context(), args, &f)
		},
	}
	f.addEnds(cmd)
	cmd.Flags().StringVar(&f.request.Limit, "limit", "", "the limit, `NUMBER`")
	cmd.Flags().StringVar(&f.request.Burst, "burst", "", "the burst, `NUMBER`, of buckets only")
	return a.ofKey(cmd, &f)
}

// ofKey completes a command about RULE KEY.
func (a *app) ofKey(cmd *cobra.Command, f *limitFlags) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction, f.everybody = f.want(nil), a.completeRule, true
	a.AddAdminFlags(cmd)
	cli.AddShownFlag(cmd, &f.shown)
	f.addTo(cmd)
	addChangeFlags(cmd, &f.changeFlags)
	return cmd
}

func (a *app) setLimit(ctx context.Context, args []string, f *limitFlags) error {
	daemon, keys, err := a.meant(ctx, args, &f.whom, f.shown)
	if err != nil {
		return err
	}
	for _, key := range keys {
		request := f.request
		request.Rule, request.Reason, request.By = args[0], f.reason, a.author(f.changeFlags)
		request.Key, request.Shown = sent(key, f.shown)
		var set api.LimitView
		if err := daemon.Do(ctx, http.MethodPost, "/v1/limits", request, &set); err != nil {
			return daemon.ExplainRefusal(ctx, err, request.Rule)
		}
		if f.json {
			if err := cli.WriteJSON(a.Stdout, set); err != nil {
				return err
			}
			continue
		}
		where := reach(ctx, daemon)
		was := ""
		if set.Before > 0 {
			was = fmt.Sprintf(", was %v", set.Before)
		}
		fmt.Fprintf(a.Stdout, "limit %s %s: %v%s, until %s (%s left; %s)\n",
			cli.Safe(set.Rule), cli.Safe(set.Key), set.Limit, was,
			set.Expires.Format(time.RFC3339), timeLeft(set.Expires, a.Now()), where)
	}
	return nil
}

// reach returns where a limit set by hand at daemon holds.
func reach(ctx context.Context, daemon *cli.Client) string {
	var is api.ClusterView
	err := daemon.Get(ctx, "/v1/cluster", nil, &is)
	switch {
	case err != nil:
		return "for the nodes see headgate cluster"
	case is.Gossip == nil:
		return "this node only: no gossip"
	case slices.ContainsFunc(is.Gossip.Members, func(m api.Member) bool {
		return m.State == "alive" && !m.Limits
	}):
		return "not at nodes of an earlier version: see headgate cluster"
	}
	return "all nodes"
}

func (a *app) limitList() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "list [RULE]",
		Short:             "List the limits set by hand",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeRule,
	}
	return cli.View(a.App, cmd, "/v1/limits", func(args []string) (url.Values, error) {
		query := url.Values{"n": {"1000"}}
		if len(args) > 0 {
			query.Set("rule", args[0])
		}
		return query, nil
	}, a.listLimits)
}

func (a *app) listLimits(v api.LimitsView) error {
	if len(v.Limits) == 0 {
		fmt.Fprintln(a.Stdout, "no limit is set by hand")
		return nil
	}
	rows := [][]cli.Cell{cli.Header("RULE", "KEY", "LIMIT", "BURST", "LEFT", "BY", "REASON")}
	for _, l := range v.Limits {
		burst := ""
		if l.Burst > 0 {
			burst = cli.Grouped(l.Burst)
		}
		rows = append(rows, []cli.Cell{
			cli.Left(l.Rule), cli.Left(l.Key), cli.Number(cli.Grouped(l.Limit)), cli.Number(burst),
			cli.Left(timeLeft(l.Expires, a.Now())), cli.Left(l.By), cli.Left(l.Reason),
		})
	}
	a.WriteTable(a.Stdout, rows)
	if v.Cursor != "" {
		fmt.Fprintln(a.Stdout, "and more: name a rule")
	}
	return nil
}

func (a *app) limitUnset() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use:   "unset RULE KEY",
		Short: "End the limit of a key set by hand, on every node",
		Long: `End the limit of a key set by hand, on every node. Exit code 0 when it was ended, 1
when there was none, 2 on an error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.end(cmd.Context(), args, &f.whom, ending{
				"/v1/limits", "ended the limit by hand on %s %s\n", "no limit by hand on %s %s\n",
				f.shown, f.changeFlags,
			})
		},
	}
	return a.ofKey(cmd, &f)
}
