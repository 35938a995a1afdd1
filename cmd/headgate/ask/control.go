package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
)

// Mode returns `headgate mode`, which shows or sets the modes of rules.
func Mode(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f changeFlags
	cmd := &cobra.Command{
		Use:   "mode [enforce|shadow|off [NAME]]",
		Short: "Show the modes of the rules, or set one or all (kill switch)",
		Long: `Without arguments: show the mode of every rule. With a mode: set it for NAME, a
rule, a policy or a pool, or for everything, until the next reload or restart. A rule that is a
policy's own takes the policy along. enforce without a name takes all switches back: the modes of
the file hold again.
  enforce  deny requests over the limit
  shadow   count and report as in enforce, but allow everything
  off      neither count nor decide`,
		Example: `  headgate mode                   # show the mode of every rule
  headgate mode shadow            # allow everything, and report the requests that would be denied
  headgate mode enforce per-ip`,
		Args: modeArgs,
		ValidArgs: []string{
			mitigation.Enforce.String(), mitigation.Shadow.String(),
			mitigation.Off.String(),
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.showModes(cmd.Context(), f.json)
			}
			return a.setMode(cmd.Context(), args, f)
		},
	}
	a.AddAdminFlags(cmd)
	addChangeFlags(cmd, &f)
	return cmd
}

func modeArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if len(args) > 2 {
		return cli.Usage(cmd, fmt.Errorf("mode wants a mode and at most one RULE, got %s",
			cli.Count(len(args), "argument")))
	}
	if _, ok := mitigation.ParseMode(args[0]); !ok {
		return cli.Usage(cmd, fmt.Errorf("there is no mode %s: use %s", cli.Quote(args[0]),
			cli.OneOf(cmd.ValidArgs)))
	}
	return nil
}

// modeRequest is the body of PUT /v1/mode.
type modeRequest struct {
	Mode string `json:"mode"`
	// at most one of them; none: everything
	Rule   string `json:"rule,omitempty"`
	Policy string `json:"policy,omitempty"`
	Pool   string `json:"pool,omitempty"`
	changeRequest
}

// changeRequest holds the fields every change has.
type changeRequest struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// ruleMode is a row of `headgate mode --json`.
type ruleMode struct {
	Rule string `json:"rule"`
	Mode string `json:"mode"`
}

// showModes prints the mode of every rule.
func (a *app) showModes(ctx context.Context, asJSON bool) error {
	view := api.RulesView{}
	if err := a.Fetch(ctx, "/v1/rules", nil, &view); err != nil {
		return err
	}
	modes, rows := []ruleMode{}, [][]cli.Cell{cli.Header("RULE", "MODE")}
	for _, r := range view.Rules {
		modes = append(modes, ruleMode{r.Name, r.Mode})
		rows = append(rows, []cli.Cell{cli.Left(r.Name), modeCell(r.Mode)})
	}
	switch {
	case asJSON:
		return cli.WriteJSON(a.Stdout, modes)
	case len(modes) == 0:
		fmt.Fprintln(a.Stdout, "there are no rules")
	default:
		a.WriteTable(a.Stdout, rows)
	}
	return nil
}

// modeCell returns a cell with a rule's mode, coloured unless enforce.
func modeCell(mode string) cli.Cell {
	c := cli.Left(mode)
	if mode != mitigation.Enforce.String() {
		c.Style = cli.Yellow
	}
	return c
}

func (a *app) setMode(ctx context.Context, args []string, f changeFlags) error {
	request, whom := modeRequest{
		Mode:          args[0],
		changeRequest: changeRequest{a.author(f), f.reason},
	}, "everything"
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	if len(args) == 2 {
		whom = args[1]
		if err := request.name(ctx, client, whom); err != nil {
			return err
		}
	}
	if err := client.Do(ctx, http.MethodPut, "/v1/mode", request, nil); err != nil {
		return client.ExplainRefusal(ctx, err, request.Rule)
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, request)
	}
	fmt.Fprintf(a.Stdout, "%s: %s\n", cli.Safe(whom), request.Mode)
	return nil
}

// name has r be of the rule, the policy or the pool called so.
func (r *modeRequest) name(ctx context.Context, daemon *cli.Client, name string) error {
	// Daemons of before have neither, and then it is a rule.
	var policies api.PoliciesView
	_ = daemon.Get(ctx, "/v1/policies", nil, &policies)
	var pools api.PoolsView
	_ = daemon.Get(ctx, "/v1/pools", nil, &pools)
	at := slices.IndexFunc(policies.Policies,
		func(v api.PolicyView) bool { return v.Name == name })
	pool := slices.ContainsFunc(pools.Pools, func(v api.PoolView) bool { return v.Name == name })
	switch {
	case pool && at >= 0:
		return fmt.Errorf("mode: %s is a pool and a policy: rename one of them", cli.Quote(name))
	case pool:
		r.Pool = name
	case at >= 0 && !slices.Contains(policies.Policies[at].Rules, name):
		r.Policy = name
	default:
		r.Rule = name
	}
	return nil
}

// Reload returns `headgate reload`, which makes the daemon read the configuration again.
func Reload(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f changeFlags
	var force bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the daemon read its configuration file again",
		Long: `Make the daemon read its configuration file again. Counts and mitigations of rules
that remain are kept. Settings fixed at start, such as listen and memory, need a restart; the
output names those that differ. A file with faults changes nothing, and the faults are printed
here. So does a file of a set that lost more than half of its entries, without --force.`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.reload(cmd.Context(), f, force)
		},
	}
	a.AddAdminFlags(cmd)
	addChangeFlags(cmd, &f)
	cmd.Flags().BoolVar(&force, "force", false, "take sets that lost most of their entries")
	return cmd
}

func (a *app) reload(ctx context.Context, f changeFlags, force bool) error {
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	client.Patient() // sets of a million entries take seconds to read
	path := "/v1/reload"
	if force {
		path += "?force=1"
	}
	var done api.ReloadView
	if err := client.Do(ctx, http.MethodPost, path, changeRequest{a.author(f), f.reason},
		&done); err != nil {
		if _, ok := errors.AsType[*cli.Problem](err); ok {
			return fmt.Errorf("reload rejected, nothing was changed: %w", err)
		}
		return err
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, done)
	}
	for _, s := range done.Sets {
		entries := strings.Replace(cli.Count(s.After, "entry"), "entrys", "entries", 1)
		fmt.Fprintf(a.Stdout, "set %s: %s → %s\n", cli.Safe(s.Name),
			cli.Grouped(int64(s.Before)), entries)
	}
	if len(done.NeedRestart) > 0 {
		fmt.Fprintf(a.Stdout, "reloaded, but a restart is needed for: %s\n",
			cli.Safe(strings.Join(done.NeedRestart, ", ")))
		return nil
	}
	fmt.Fprintln(a.Stdout, "reloaded")
	return nil
}
