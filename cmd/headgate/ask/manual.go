package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// changeFlags are the options of every changing command.
type changeFlags struct {
	by, reason string
	json       bool
}

// addChangeFlags gives cmd the flags naming the author and the reason of a change.
func addChangeFlags(cmd *cobra.Command, f *changeFlags) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason for the change, `TEXT` for the lists "+
		"and the log")
	cmd.Flags().StringVar(&f.by, "by", "", "`NAME` of the author of the change (default: your "+
		"user name)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// author returns the author of a change: --by, else the user.
func (a *app) author(f changeFlags) string { return cli.First(f.by, a.Getenv("USER")) }

// manualFlags are the options of `headgate block` and `headgate allow`.
type manualFlags struct {
	changeFlags
	ttl   time.Duration // 0: the daemon's default
	shown bool          // the key is given as the tables print it
	all   bool          // under all rules
	whom
}

// Block returns `headgate block`, which blocks a key by hand.
func Block(shared *cli.App) *cobra.Command {
	a := &app{shared}
	return a.manualCommand("block",
		"Deny every request of a key for a limited time, whatever its count. Needs the "+
			"admin token when one is set.")
}

// Allow returns `headgate allow`, which allows a key by hand.
func Allow(shared *cli.App) *cobra.Command {
	a := &app{shared}
	return a.manualCommand("allow",
		"Allow every request of a key for a limited time, whatever its count. Needs the "+
			"admin token when one is set.")
}

// manualKey is the part of the help on which keys block and allow take.
const manualKey = `
KEY is one key, exactly as requests send it, or a network such as 10.0.0.0/8: every key that
is an address or a network in it. The smallest network decides, and before it a mitigation of
the key itself. --shown accepts every key as the tables print it.`

func (a *app) manualCommand(action, long string) *cobra.Command {
	var f manualFlags
	cmd := &cobra.Command{
		Use: action + " RULE KEY",
		Short: strings.ToUpper(action[:1]) + action[1:] + " a key by hand, for a " +
			"limited time",
		Long: long + manualKey,
		Example: fmt.Sprintf("  headgate %[1]s login 203.0.113.7 --ttl 10m --reason "+
			"'ticket 4711'\n  headgate %[1]s login 203.0.113.0/24", action),
		Args:              f.want(&f.all),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("ttl") && f.ttl <= 0 {
				return fmt.Errorf("%s: --ttl is %v; it must be from 1s to 720h (without --ttl: 1h)",
					action, f.ttl)
			}
			if f.all {
				return a.setEverywhere(cmd.Context(), action, strings.Join(args, ""), &f)
			}
			return a.setByHand(cmd.Context(), action, args, &f)
		},
	}
	a.AddAdminFlags(cmd)
	cli.AddShownFlag(cmd, &f.shown)
	f.addTo(cmd)
	addAllFlag(cmd, &f.all)
	addChangeFlags(cmd, &f.changeFlags)
	cmd.Flags().DurationVar(&f.ttl, "ttl", 0, "end after `DURATION`, 1s to 720h (default 1h)")
	return cmd
}

// setByHand blocks or allows the keys that are meant by args.
func (a *app) setByHand(ctx context.Context, action string, args []string, f *manualFlags) error {
	daemon, keys, err := a.meant(ctx, args, &f.whom, f.shown)
	if err != nil {
		return err
	}
	for _, key := range keys {
		request := api.MitigationRequest{
			Rule: args[0], Action: action, Reason: f.reason, By: a.author(f.changeFlags),
		}
		if f.ttl > 0 {
			request.TTL = f.ttl.String()
		}
		request.Key, request.Shown = sent(key, f.shown)
		var set api.MitigationView
		if err := daemon.Do(ctx, http.MethodPost, "/v1/mitigations", request, &set); err != nil {
			return daemon.ExplainRefusal(ctx, err, request.Rule)
		}
		if f.json {
			if err := cli.WriteJSON(a.Stdout, set); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.Stdout, "%s %s %s, %s left\n", a.Paint(cli.StateStyle(action), action),
			cli.Safe(request.Rule), cli.Safe(cli.First(set.Key, key)),
			timeLeft(set.Expires, a.Now()))
	}
	return nil
}

// sent returns key as a body has it, as it is or as the tables print it: JSON carries no odd bytes.
func sent(key string, shown bool) (asIs, escaped string) {
	if shown || strings.Contains(key, `\`) {
		return "", key
	}
	return key, ""
}

// setEverywhere blocks or allows a client under all rules.
func (a *app) setEverywhere(ctx context.Context, action, key string, f *manualFlags) error {
	body, err := f.body(key)
	if err != nil {
		return err
	}
	body["rule"], body["action"], body["by"], body["reason"] = "*", action,
		a.author(f.changeFlags), f.reason
	if f.ttl > 0 {
		body["ttl"] = f.ttl.String()
	}
	daemon, err := a.DialAdmin()
	if err != nil {
		return err
	}
	var v api.ChangedView
	if err := daemon.Do(ctx, http.MethodPost, "/v1/mitigations", body, &v); err != nil {
		return err
	}
	return a.changed(action, &v, f.json)
}

// Unblock returns `headgate unblock`, which removes the mitigation of a key.
func Unblock(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var f manualFlags
	cmd := &cobra.Command{
		Use:   "unblock RULE KEY",
		Short: "Remove the mitigation of a key, whatever its source",
		Long: `Remove the mitigation of a key, whatever its source, on every node: its next
requests are decided by its count alone. Exit code 0 when it was removed, 1 when there was none,
2 on an error.`,
		Example: "  headgate unblock login 203.0.113.7 --reason 'ticket 4711: a shared " +
			"address'",
		Args:              f.want(&f.all),
		ValidArgsFunction: a.completeRule,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.all {
				return a.unblockEverywhere(cmd.Context(), strings.Join(args, ""), &f)
			}
			return a.unblock(cmd.Context(), args, &f)
		},
	}
	a.AddAdminFlags(cmd)
	cli.AddShownFlag(cmd, &f.shown)
	f.addTo(cmd)
	addAllFlag(cmd, &f.all)
	addChangeFlags(cmd, &f.changeFlags)
	return cmd
}

// removed is the output of `headgate unblock --json`.
type removed struct {
	Rule    string `json:"rule"`
	Key     string `json:"key"` // as the tables print it
	Removed bool   `json:"removed"`
}

// withoutMitigation reports whether err is the daemon's answer that a key has no mitigation, as
// opposed to an unknown rule.
func withoutMitigation(err error) bool {
	p, ok := errors.AsType[*cli.Problem](err)
	return ok && p.Status == http.StatusNotFound && p.Parameter == "key"
}

// unblock lifts the mitigations of the keys that are meant by args.
func (a *app) unblock(ctx context.Context, args []string, f *manualFlags) error {
	if slices.Contains(args, "") {
		return errors.New("unblock: neither the rule nor the key may be empty")
	}
	return a.end(ctx, args, &f.whom, ending{
		"/v1/mitigations", "removed %s %s\n", "no mitigation on %s %s: nothing to remove\n",
		f.shown, f.changeFlags,
	})
}

// ending is a path, and the texts for one that was there and for none.
type ending struct {
	path, there, none string
	shown             bool
	changeFlags
}

// end ends what a human set on the keys that are meant by args.
func (a *app) end(ctx context.Context, args []string, of *whom, e ending) error {
	daemon, keys, err := a.meant(ctx, args, of, e.shown)
	if err != nil {
		return err
	}
	none := true
	for _, key := range keys {
		query := url.Values{"rule": args[:1]}
		setKey(query, key)
		setIf(query, "by", a.author(e.changeFlags))
		setIf(query, "reason", e.reason)
		err := daemon.Do(ctx, http.MethodDelete, e.path+"?"+query.Encode(), nil, nil)
		if err != nil && !withoutMitigation(err) {
			return daemon.ExplainRefusal(ctx, err, args[0])
		}
		said := e.none
		if err == nil {
			none, said = false, e.there
		}
		if !e.json {
			fmt.Fprintf(a.Stdout, said, cli.Safe(args[0]), cli.Safe(key))
		} else if err := cli.WriteJSON(a.Stdout, removed{args[0], key, err == nil}); err != nil {
			return err
		}
	}
	if none {
		return cli.ErrNo
	}
	return nil
}

// unblockEverywhere lifts a client's mitigations under all rules. The body names the client, as
// secrets are not for a URL.
func (a *app) unblockEverywhere(ctx context.Context, key string, f *manualFlags) error {
	body, err := f.body(key)
	if err != nil {
		return err
	}
	daemon, err := a.DialAdmin()
	if err != nil {
		return err
	}
	query := url.Values{"rule": {"*"}}
	setIf(query, "by", a.author(f.changeFlags))
	setIf(query, "reason", f.reason)
	var v api.ChangedView
	err = daemon.Do(ctx, http.MethodDelete, "/v1/mitigations?"+query.Encode(), body, &v)
	if err != nil {
		return err
	}
	return a.changed("removed", &v, f.json)
}
