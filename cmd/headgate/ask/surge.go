package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// Surge returns `headgate surge`, which shows the common properties of the requests of a surge.
func Surge(shared *cli.App) *cobra.Command {
	a := &app{shared}
	cmd := &cobra.Command{
		Use:   "surge",
		Short: "Say what the requests of a surge have in common",
		Long: `Say what the requests of a surge have in common: a sentence for each finding of the
last 24 hours. Whole requests are needed: a question of a rule and a key takes no part. Exit
code 0 when there is a finding, 1 when there is none, 2 on an error.`,
		Args: cli.Want(),
	}
	var now bool
	cmd.Flags().BoolVar(&now, "now", false, "look at once, and take one look for enough")
	cmd.AddCommand(a.surgeApply(), a.surgeUndo(), a.surgePolicy())
	return cli.View(shared, cmd, "/v1/surge", func([]string) (url.Values, error) {
		query := url.Values{}
		if now {
			query.Set("now", "1")
		}
		return query, nil
	}, a.showSurge)
}

func (a *app) showSurge(v api.SurgeView) error {
	switch v.State {
	case "off":
		fmt.Fprintln(a.Stdout, "off: surge.sample is 0")
	case "learning":
		fmt.Fprintf(a.Stdout, "learning usual traffic, %d requests so far", v.Learning.Rows)
		if left := cli.Seconds(v.Learning.ReadyIn); left > 0 {
			fmt.Fprintf(a.Stdout, ", ready in %s", cli.Span(left))
		}
		fmt.Fprintln(a.Stdout)
	default:
		fmt.Fprintf(a.Stdout, "%s since %s: %s requests a second, usually %s\n", v.State,
			v.Since.Local().Format(time.DateTime), cli.Decimal(v.Rate.Now),
			cli.Decimal(v.Rate.Usual))
	}
	for i := range v.Findings {
		a.showFinding(&v.Findings[i])
	}
	if v.State != "off" && v.Sample.Rows+v.Learning.Rows == 0 {
		fmt.Fprintln(a.Stdout, "no whole requests: a rule and a key alone take no part")
	}
	if len(v.Findings) == 0 {
		return cli.ErrNo
	}
	return nil
}

// showFinding prints a finding, and its policy in force.
func (a *app) showFinding(f *api.SurgeFinding) {
	state := f.Kind
	if f.Over {
		state += ", over"
	}
	fmt.Fprintf(a.Stdout, "%s (%s) %s\n", cli.Safe(f.ID), state, cli.Safe(f.Sentence))
	if is := f.Applied; is != nil {
		what := "denied"
		if is.Mode == "shadow" {
			what = "would have been denied"
		}
		fmt.Fprintf(a.Stdout, "  policy surge-%s in mode %s for %s by %s: %d matched, %d %s\n",
			cli.Safe(f.ID), is.Mode, timeLeft(is.Until, a.Now()), cli.Safe(is.By), is.Matched,
			is.Denied, what)
	}
}

func (a *app) surgeApply() *cobra.Command {
	var is api.SurgeApply
	var shadow, enforce bool
	var f changeFlags
	cmd := &cobra.Command{
		Use:   "apply ID",
		Short: "Put the policy of a finding in force, in shadow unless it says --enforce",
		Long: `Put the policy of a finding in force, for half an hour: in shadow, where it only
counts, or with --enforce. A second time replaces mode and time. Needs the admin token when one
is set.`,
		Example: `  headgate surge apply 3fa9c1
  headgate surge apply 3fa9c1 --enforce --for 2h`,
		Args: cli.Want("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			is.ID, is.By = args[0], a.author(f)
			if is.Mode = "shadow"; enforce {
				is.Mode = "enforce"
			}
			return a.applySurge(cmd.Context(), is, f.json)
		},
	}
	cmd.Flags().BoolVar(&shadow, "shadow", false, "only count (the default)")
	cmd.Flags().BoolVar(&enforce, "enforce", false, "deny the requests")
	cmd.MarkFlagsMutuallyExclusive("shadow", "enforce")
	cmd.Flags().StringVar(&is.For, "for", "", "end after `DURATION`, 1m to 24h (default 30m)")
	cmd.Flags().BoolVar(&is.All, "all", false, "on every member of the cluster")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return a.changesSurge(cmd, &f)
}

// changesSurge completes a changing command.
func (a *app) changesSurge(cmd *cobra.Command, f *changeFlags) *cobra.Command {
	a.AddAdminFlags(cmd)
	cmd.Flags().StringVar(&f.by, "by", "", "`NAME` of the author (default: your user name)")
	return cmd
}

func (a *app) applySurge(ctx context.Context, is api.SurgeApply, asJSON bool) error {
	daemon, err := a.DialAdmin()
	if err != nil {
		return err
	}
	var v api.SurgeAppliedView
	if err := daemon.Do(ctx, http.MethodPost, "/v1/surge/apply", is, &v); err != nil {
		return daemon.ExplainRefusal(ctx, err, "")
	}
	if asJSON {
		return cli.WriteJSON(a.Stdout, v)
	}
	where := ""
	if v.Alone {
		where = "; this node only: no gossip"
	}
	fmt.Fprintf(a.Stdout, "policy %s in mode %s until %s (%s left%s)\n", cli.Safe(v.Name), v.Mode,
		v.Until.Format(time.RFC3339), timeLeft(v.Until, a.Now()), where)
	return nil
}

func (a *app) surgeUndo() *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Take the policy of a finding away",
		Long: `Take the policy of a finding away. Exit code 0 when it was in force, 1 when it
was not, 2 on an error.`,
		Args: cli.Want("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := a.DialAdmin()
			if err != nil {
				return err
			}
			query := url.Values{"id": args[:1]}
			setIf(query, "by", a.author(f))
			err = daemon.Do(cmd.Context(), http.MethodDelete, "/v1/surge/apply?"+query.Encode(),
				nil, nil)
			if is, ok := errors.AsType[*cli.Problem](err); ok && is.Status == http.StatusNotFound {
				fmt.Fprintf(a.Stdout, "no policy of finding %s is in force\n", cli.Safe(args[0]))
				return cli.ErrNo
			}
			if err != nil {
				return daemon.ExplainRefusal(cmd.Context(), err, "")
			}
			fmt.Fprintf(a.Stdout, "the policy of finding %s is gone\n", cli.Safe(args[0]))
			return nil
		},
	}
	return a.changesSurge(cmd, &f)
}

func (a *app) surgePolicy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy ID",
		Short: "Print the policy of a finding, an item of the list policies of headgate.yaml",
		Args:  cli.Want("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var v api.SurgeView
			if err := a.Fetch(cmd.Context(), "/v1/surge", nil, &v); err != nil {
				return err
			}
			for i := range v.Findings {
				f := &v.Findings[i]
				switch {
				case f.ID != args[0]:
				case f.Policy == "":
					return fmt.Errorf("finding %s has no policy: %s", f.ID, f.NoPolicy)
				default:
					fmt.Fprint(a.Stdout, f.Policy)
					return nil
				}
			}
			return fmt.Errorf("there is no finding %s", cli.Quote(args[0]))
		},
	}
	a.AddAdminFlags(cmd)
	return cmd
}
