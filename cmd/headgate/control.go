package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/mitigation"
)

func modeCommand(a *app) *cobra.Command {
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
	a.addAdminFlags(cmd)
	addWordFlags(cmd, &f)
	return cmd
}

func modeArgs(cmd *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return usage(cmd, fmt.Errorf("mode wants a mode and perhaps a RULE, got %s", count(len(args), "argument")))
	}
	if _, ok := mitigation.ParseMode(args[0]); !ok {
		return usage(cmd, fmt.Errorf("no mode is called %s: it is %s", quote(args[0]), oneOf(cmd.ValidArgs)))
	}
	return nil
}

// modeRequest is the body of PUT /v1/mode.
type modeRequest struct {
	Mode string `json:"mode"`
	Rule string `json:"rule,omitempty"` // empty: all rules
	wordRequest
}

// wordRequest is what every change may say besides.
type wordRequest struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (a *app) setMode(ctx context.Context, args []string, f wordFlags) error {
	request, whom := modeRequest{Mode: args[0], wordRequest: wordRequest{a.who(f), f.reason}}, "every rule"
	if len(args) == 2 {
		request.Rule, whom = args[1], args[1]
	}
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	if err := client.do(ctx, http.MethodPut, "/v1/mode", request, nil); err != nil {
		return client.explainRefusal(ctx, err, request.Rule)
	}
	if f.json {
		return writeJSON(a.stdout, request)
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", safe(whom), request.Mode)
	return nil
}

func reloadCommand(a *app) *cobra.Command {
	var f wordFlags
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the daemon read its configuration again",
		Long: `Have the daemon read its configuration file again. Counts and flags of rules that are still there stay.
A file with faults changes nothing, and they are told here.`,
		Args: want(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.reload(cmd.Context(), f) },
	}
	a.addAdminFlags(cmd)
	addWordFlags(cmd, &f)
	return cmd
}

func (a *app) reload(ctx context.Context, f wordFlags) error {
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	var done edge.ReloadView
	if err := client.do(ctx, http.MethodPost, "/v1/reload", wordRequest{a.who(f), f.reason}, &done); err != nil {
		if _, ok := errors.AsType[*problem](err); ok {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		return err
	}
	if f.json {
		return writeJSON(a.stdout, done)
	}
	fmt.Fprintln(a.stdout, "reloaded")
	return nil
}
