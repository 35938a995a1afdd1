package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/spf13/cobra"
)

// wordFlags are the flags of every change, and the form of its answer.
type wordFlags struct {
	by, reason string
	json       bool
}

// addWordFlags gives cmd the flags that say who changes something, and why.
func addWordFlags(cmd *cobra.Command, f *wordFlags) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "`words` for whoever reads the list or the log")
	cmd.Flags().StringVar(&f.by, "by", "", "`name` of who says so (default: your user name)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// who returns who says so.
func (a *app) who(f wordFlags) string { return cli.First(f.by, a.Getenv("USER")) }

// manualFlags are the options of `headgate block` and `headgate allow`.
type manualFlags struct {
	wordFlags
	ttl   time.Duration // 0: the daemon's default
	shown bool          // the key is given as lists show it
}

// Block returns `headgate block`, which flags a key by hand.
func Block(shared *cli.App) *cobra.Command {
	a := &app{shared}
	return a.manualCommand("block", `Refuse every request of a key for a while, whatever it counts. Needs the admin token when one is set.`)
}

// Allow returns `headgate allow`, which lets a key pass by hand.
func Allow(shared *cli.App) *cobra.Command {
	a := &app{shared}
	return a.manualCommand("allow", `Let every request of a key pass for a while, whatever it counts. Needs the admin token when one is set.`)
}

// manualKey is the part of the help on which keys block and allow take.
const manualKey = `
KEY is one key exactly as requests send it. Networks such as 10.0.0.0/8 are not supported yet and are refused, unless the
rule counts under that very key. --shown takes any key that lists show.`

func (a *app) manualCommand(action, long string) *cobra.Command {
	var f manualFlags
	cmd := &cobra.Command{
		Use:               action + " RULE KEY",
		Short:             strings.ToUpper(action[:1]) + action[1:] + " a key by hand, for a while",
		Long:              long + manualKey,
		Example:           fmt.Sprintf("  headgate %s login 203.0.113.7 --ttl 10m --reason 'ticket 4711'", action),
		Args:              cli.Want("RULE", "KEY"),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := cli.KeyOf(args[1], f.shown)
			if err != nil {
				return err
			}
			return a.setByHand(cmd.Context(), api.MitigationRequest{Rule: args[0], Key: key, Action: action}, f)
		},
	}
	a.AddAdminFlags(cmd)
	cli.AddShownFlag(cmd, &f.shown)
	addWordFlags(cmd, &f.wordFlags)
	cmd.Flags().DurationVar(&f.ttl, "ttl", 0, "for this `time` (default: the daemon's)")
	return cmd
}

func (a *app) setByHand(ctx context.Context, request api.MitigationRequest, f manualFlags) error {
	if f.ttl < 0 {
		return fmt.Errorf("%s: --ttl must not be negative", request.Action)
	}
	key := cli.ShownKey(request.Key)
	if f.shown || key != request.Key { // JSON carries no odd bytes
		request.Key, request.Shown = "", key
	}
	if f.ttl > 0 {
		request.TTL = f.ttl.String()
	}
	request.Reason, request.By = f.reason, a.who(f.wordFlags)
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	var set api.MitigationView
	if err := client.Do(ctx, http.MethodPost, "/v1/mitigations", request, &set); err != nil {
		return client.ExplainRefusal(ctx, err, request.Rule)
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, set)
	}
	fmt.Fprintf(a.Stdout, "%s %s %s, %s left\n", a.Paint(cli.StateStyle(request.Action), request.Action),
		cli.Safe(request.Rule), key, timeLeft(set.Expires, a.Now()))
	return nil
}

// Unblock returns `headgate unblock`, which lifts the flag of a key.
func Unblock(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f wordFlags
	var shown bool
	cmd := &cobra.Command{
		Use:               "unblock RULE KEY",
		Short:             "Lift the flag of a key, whoever set it",
		Long:              "Lift the flag of a key, whoever set it: its next requests are judged by their count alone.",
		Example:           "  headgate unblock login 203.0.113.7 --reason 'ticket 4711: a shared address'",
		Args:              cli.Want("RULE", "KEY"),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := cli.KeyOf(args[1], shown)
			if err != nil {
				return err
			}
			return a.unblock(cmd.Context(), args[0], key, f)
		},
	}
	a.AddAdminFlags(cmd)
	cli.AddShownFlag(cmd, &shown)
	addWordFlags(cmd, &f)
	return cmd
}

// lifted is the output of `headgate unblock --json`.
type lifted struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"` // as lists show it
	Lifted bool   `json:"lifted"`
}

func (a *app) unblock(ctx context.Context, rule, key string, f wordFlags) error {
	if rule == "" || key == "" {
		return errors.New("unblock: neither the rule nor the key may be empty")
	}
	client, err := a.DialAdmin()
	if err != nil {
		return err
	}
	query := url.Values{"rule": {rule}, "key": {key}}
	setIf(query, "by", a.who(f))
	setIf(query, "reason", f.reason)
	if err := client.Do(ctx, http.MethodDelete, "/v1/mitigations?"+query.Encode(), nil, nil); err != nil {
		return client.ExplainRefusal(ctx, err, rule)
	}
	if f.json {
		return cli.WriteJSON(a.Stdout, lifted{rule, cli.ShownKey(key), true})
	}
	fmt.Fprintf(a.Stdout, "lifted %s %s\n", cli.Safe(rule), cli.ShownKey(key))
	return nil
}
