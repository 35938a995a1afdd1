package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/edge"
)

// wordFlags are what is said along with every change, and how its answer is printed.
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
func (a *app) who(f wordFlags) string { return first(f.by, a.getenv("USER")) }

// manualFlags are the options of `headgate block` and `headgate allow`.
type manualFlags struct {
	wordFlags
	ttl   time.Duration // 0: the daemon's default
	shown bool          // the key is given as lists show it
}

func blockCommand(a *app) *cobra.Command {
	return a.manualCommand("block", `Refuse every request of a key for a while, whatever it counts. Needs the admin token when one is set.`)
}

func allowCommand(a *app) *cobra.Command {
	return a.manualCommand("allow", `Let every request of a key pass for a while, whatever it counts. Needs the admin token when one is set.`)
}

func (a *app) manualCommand(action, long string) *cobra.Command {
	var f manualFlags
	cmd := &cobra.Command{
		Use:               action + " RULE KEY",
		Short:             strings.ToUpper(action[:1]) + action[1:] + " a key by hand, for a while",
		Long:              long,
		Example:           fmt.Sprintf("  headgate %s login 203.0.113.7 --ttl 10m --reason 'ticket 4711'", action),
		Args:              want("RULE", "KEY"),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := keyOf(args[1], f.shown)
			if err != nil {
				return err
			}
			return a.setByHand(cmd.Context(), edge.MitigationRequest{Rule: args[0], Key: key, Action: action}, f)
		},
	}
	a.addAdminFlags(cmd)
	addShownFlag(cmd, &f.shown)
	addWordFlags(cmd, &f.wordFlags)
	cmd.Flags().DurationVar(&f.ttl, "ttl", 0, "for this `time` (default: the daemon's)")
	return cmd
}

func (a *app) setByHand(ctx context.Context, request edge.MitigationRequest, f manualFlags) error {
	if f.ttl < 0 {
		return fmt.Errorf("%s: --ttl must not be negative", request.Action)
	}
	key := shownKey(request.Key)
	if key != request.Key { // JSON carries no odd bytes
		request.Key, request.Shown = "", key
	}
	if f.ttl > 0 {
		request.TTL = f.ttl.String()
	}
	request.Reason, request.By = f.reason, a.who(f.wordFlags)
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	var set edge.MitigationView
	if err := client.do(ctx, http.MethodPost, "/v1/mitigations", request, &set); err != nil {
		return client.explainRefusal(ctx, err, request.Rule)
	}
	if f.json {
		return writeJSON(a.stdout, set)
	}
	fmt.Fprintf(a.stdout, "%s %s %s, %s left\n", a.paint(stateStyle(request.Action), request.Action),
		safe(request.Rule), key, timeLeft(set.Expires, a.now()))
	return nil
}

func unblockCommand(a *app) *cobra.Command {
	var f wordFlags
	var shown bool
	cmd := &cobra.Command{
		Use:               "unblock RULE KEY",
		Short:             "Lift the flag of a key, whoever set it",
		Long:              "Lift the flag of a key, whoever set it: its next requests are judged by their count alone.",
		Example:           "  headgate unblock login 203.0.113.7 --reason 'ticket 4711: a shared address'",
		Args:              want("RULE", "KEY"),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := keyOf(args[1], shown)
			if err != nil {
				return err
			}
			return a.unblock(cmd.Context(), args[0], key, f)
		},
	}
	a.addAdminFlags(cmd)
	addShownFlag(cmd, &shown)
	addWordFlags(cmd, &f)
	return cmd
}

// lifted is what `headgate unblock --json` prints.
type lifted struct {
	Rule   string `json:"rule"`
	Key    string `json:"key"` // as lists show it
	Lifted bool   `json:"lifted"`
}

func (a *app) unblock(ctx context.Context, rule, key string, f wordFlags) error {
	if rule == "" || key == "" {
		return errors.New("unblock: neither the rule nor the key may be empty")
	}
	client, err := a.dialAdmin()
	if err != nil {
		return err
	}
	query := url.Values{"rule": {rule}, "key": {key}}
	setIf(query, "by", a.who(f))
	setIf(query, "reason", f.reason)
	if err := client.do(ctx, http.MethodDelete, "/v1/mitigations?"+query.Encode(), nil, nil); err != nil {
		return client.explainRefusal(ctx, err, rule)
	}
	if f.json {
		return writeJSON(a.stdout, lifted{rule, shownKey(key), true})
	}
	fmt.Fprintf(a.stdout, "lifted %s %s\n", safe(rule), shownKey(key))
	return nil
}
