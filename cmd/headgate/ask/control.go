package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/spf13/cobra"
)

// Mode returns `headgate mode`, which sets the mode of rules.
func Mode(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f wordFlags
	cmd := &cobra.Command{
		Use:   "mode enforce|shadow|off [RULE]",
		Short: "The kill switch: set the mode of one rule, or of all",
		Long: `Set the mode of one rule, or of all of them, until the configuration is read again:
  enforce  decide and answer accordingly
  shadow   decide, count and report, but always allow
  off      neither count nor decide`,
		Example: `  headgate mode shadow            # let everything pass, and see who would have been refused
  headgate mode enforce per-ip`,
		Args:      modeArgs,
		ValidArgs: []string{mitigation.Enforce.String(), mitigation.Shadow.String(), mitigation.Off.String()},
		RunE:      func(cmd *cobra.Command, args []string) error { return a.setMode(cmd.Context(), args, f) },
	}
	a.AddAdminFlags(cmd)
	addWordFlags(cmd, &f)
	return cmd
}

func modeArgs(cmd *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return cli.Usage(cmd, fmt.Errorf("mode wants a mode and perhaps a RULE, got %s", cli.Count(len(args), "argument")))
	}
	if _, ok := mitigation.ParseMode(args[0]); !ok {
		return cli.Usage(cmd, fmt.Errorf("no mode is called %s: it is %s", cli.Quote(args[0]), cli.OneOf(cmd.ValidArgs)))
	}
	return nil
}

// modeRequest is the body of PUT /v1/mode.
type modeRequest struct {
	Mode string `json:"mode"`
	Rule string `json:"rule,omitempty"` // empty: all rules
	wordRequest
}

// wordRequest holds the fields that every change has.
type wordRequest struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (a *app) setMode(ctx context.Context, args []string, f wordFlags) error {
	request, whom := modeRequest{Mode: args[0], wordRequest: wordRequest{a.who(f), f.reason}}, "every rule"
	if len(args) == 2 {
		request.Rule, whom = args[1], args[1]
	}
	client, err := a.DialAdmin()
	if err != nil {
		return err
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

// Reload returns `headgate reload`, which has the daemon read its configuration again.
func Reload(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f wordFlags
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the daemon read its configuration again",
		Long: `Have the daemon read its configuration file again. Counts and flags of rules that are still there stay.
Settings that are fixed at start, such as listen and memory, need a restart; those that differ are named.
A file with faults changes nothing, and they are told here.`,
		Args: cli.Want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.reload(cmd.Context(), f) },
	}
	a.AddAdminFlags(cmd)
	addWordFlags(cmd, &f)
	return cmd
}

func (a *app) reload(ctx context.Context, f wordFlags) error {
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	var done api.ReloadView
	if err := client.Do(ctx, http.MethodPost, "/v1/reload", wordRequest{a.who(f), f.reason}, &done); err != nil {
		if _, ok := errors.AsType[*cli.Problem](err); ok {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		return err
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, done)
	}
	if len(done.NeedRestart) > 0 {
		fmt.Fprintf(a.Stdout, "reloaded, but a restart is needed for: %s\n", cli.Safe(strings.Join(done.NeedRestart, ", ")))
		return nil
	}
	fmt.Fprintln(a.Stdout, "reloaded")
	return nil
}
