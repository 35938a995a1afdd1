package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/api"
)

// whom are the options by which people name a client in place of a key.
type whom struct {
	everybody bool // "*" is no key

	address               string
	header, cookie, query []string
}

// addTo gives cmd the options.
func (c *whom) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.address, "client", "", "the client with `ADDRESS`, in place of KEY")
	flags.StringArrayVar(&c.header, "header", nil, "the client that sends header `NAME=VALUE`")
	flags.StringArrayVar(&c.cookie, "cookie", nil, "likewise with a cookie, `NAME=VALUE`")
	flags.StringArrayVar(&c.query, "query", nil, "likewise with a parameter, `NAME=VALUE`")
}

// given reports whether any of the options is.
func (c *whom) given() bool {
	return c.address != "" || len(c.header)+len(c.cookie)+len(c.query) > 0
}

// body returns the members that name the client, or the key.
func (c *whom) body(key string) (map[string]any, error) {
	if !c.given() {
		return map[string]any{"key": key}, nil
	}
	body := map[string]any{}
	if c.address != "" {
		body["client"] = c.address
	}
	for name, list := range map[string][]string{
		"header": c.header, "cookie": c.cookie, "query": c.query,
	} {
		fields := map[string]string{}
		for _, pair := range list {
			field, value, ok := strings.Cut(pair, "=")
			if !ok || field == "" {
				return nil, fmt.Errorf("--%s wants NAME=VALUE, got %s", name, cli.Quote(pair))
			}
			fields[field] = value
		}
		if len(fields) > 0 {
			body[name] = fields
		}
	}
	return body, nil
}

// want accepts RULE and KEY; without RULE where all of its rules are meant, and without KEY where
// the options name a client.
func (c *whom) want(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var names []string
		if all == nil || !*all {
			names = append(names, "RULE")
		}
		if !c.given() {
			names = append(names, "KEY")
		}
		return cli.Want(names...)(cmd, args)
	}
}

// keysOf returns the keys of rule that are meant, as the tables print them. Daemons of before know
// keys as they are only.
func (a *app) keysOf(
	ctx context.Context, daemon *cli.Client, rule, key string, c *whom,
) ([]string, error) {
	body, err := c.body(key)
	switch shown := cli.ShownKey(key); {
	case err != nil:
		return nil, err
	case c.everybody && key == "*":
		return []string{key}, nil
	case shown != key: // JSON carries no odd bytes, and so no policy made that key
		return []string{shown}, nil
	}
	body["rule"] = rule
	var v api.WhoView
	err = daemon.Do(ctx, http.MethodPost, "/v1/who", body, &v)
	if p, ok := errors.AsType[*cli.Problem](err); ok && p.Status == http.StatusNotFound &&
		!c.given() {
		return []string{key}, nil
	}
	if err != nil {
		return nil, daemon.ExplainRefusal(ctx, err, rule)
	}
	var keys []string
	for i := range v.Who {
		keys = append(keys, v.Who[i].Key)
	}
	return keys, nil
}

// meant returns the keys meant by RULE KEY, or RULE and the options, as the tables print them.
func (a *app) meant(
	ctx context.Context, args []string, c *whom, shown bool,
) (daemon *cli.Client, keys []string, err error) {
	key := strings.Join(args[1:], "")
	if shown {
		if _, err := cli.KeyOf(key, true); err != nil {
			return nil, nil, err
		}
	}
	if daemon, err = a.DialAdmin(); err != nil {
		return nil, nil, err
	}
	if shown {
		return daemon, []string{key}, nil
	}
	keys, err = a.keysOf(ctx, daemon, args[0], key, c)
	return daemon, keys, err
}

// setKey sets the parameter of a key as the tables print it.
func setKey(query url.Values, shown string) {
	name := "key"
	if strings.Contains(shown, `\`) { // else as it is
		name = "shown"
	}
	query.Set(name, shown)
}

// changed prints the changes under all rules.
func (a *app) changed(what string, v *api.ChangedView, asJSON bool) error {
	if asJSON {
		if err := cli.WriteJSON(a.Stdout, v); err != nil {
			return err
		}
	} else {
		for _, is := range v.Changed {
			fmt.Fprintf(a.Stdout, "%s %s %s\n", what, cli.Safe(is.Rule), cli.Safe(is.Key))
		}
		for _, is := range v.Left {
			fmt.Fprintf(a.Stdout, "left %s: %s\n", cli.Safe(is.Rule), cli.Safe(is.Reason))
		}
	}
	if len(v.Changed) == 0 {
		return cli.ErrNo
	}
	return nil
}

// addAllFlag gives cmd --all-rules.
func addAllFlag(cmd *cobra.Command, all *bool) {
	cmd.Flags().BoolVar(all, "all-rules", false,
		"every rule under which the client has a key, in place of RULE")
}

// Who returns `headgate who`, which finds a client by a key the client knows.
func Who(shared *cli.App) *cobra.Command {
	a := &app{shared}
	var c whom
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "who [KEY]",
		Short: "Find a client under all rules, and what denies it",
		Long: `Print everything that holds a client now, under every rule: what denies it first,
then what would deny it but for shadow, then the rest. KEY is an address, or any text that a key
is made of, such as an API key: where the policies count by a digest of it, the digest is found.
Exit code 0 when nothing denies the client, 1 when something does, 2 on an error.`,
		Example: `  headgate who 203.0.113.7
  headgate who --header x-api-key=k-3`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.given() {
				return cli.Want()(cmd, args)
			}
			return cli.Want("KEY")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.who(cmd.Context(), strings.Join(args, ""), &c, asJSON)
		},
	}
	a.AddAdminFlags(cmd)
	c.addTo(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) who(ctx context.Context, key string, c *whom, asJSON bool) error {
	daemon, err := a.DialAdmin()
	if err != nil {
		return err
	}
	body, err := c.body(key)
	if err != nil {
		return err
	}
	var v api.WhoView
	if err := daemon.Do(ctx, http.MethodPost, "/v1/who", body, &v); err != nil {
		return err
	}
	if asJSON {
		err = cli.WriteJSON(a.Stdout, v)
	} else {
		a.printWho(&v)
	}
	if err == nil && !v.Allowed {
		return cli.ErrNo
	}
	return err
}

// printWho prints a table of the keys.
func (a *app) printWho(v *api.WhoView) {
	if len(v.Who) == 0 {
		fmt.Fprintln(a.Stdout, "no key is known of this client")
		return
	}
	rows := [][]cli.Cell{cli.Header("RULE", "KEY", "USED", "LIMIT", "VERDICT", "UNTIL", "BY")}
	for i := range v.Who {
		is := &v.Who[i]
		verdict, until, by := is.Verdict, "", ""
		if is.Verdict != "allow" || is.Shadow {
			verdict = strings.TrimSpace("deny " + is.Why)
		}
		if is.Shadow {
			verdict += " (shadow)"
		}
		if is.Until != nil {
			until = timeLeft(*is.Until, v.Now)
		}
		if m := is.Mitigation; m != nil {
			if by = m.Source; m.Reason != "" {
				by += ": " + m.Reason
			}
			if is.Verdict == "allow" && m.Action == "allow" {
				verdict = "allow by hand"
			}
		}
		rows = append(rows, []cli.Cell{
			cli.Left(is.Rule), cli.Left(is.Key), cli.Number(is.Admitted.String()),
			cli.Number(is.Limit.String()),
			{Text: verdict, Style: cli.StateStyle(is.Verdict)},
			cli.Left(until), cli.Left(by),
		})
	}
	a.WriteTable(a.Stdout, rows)
	if v.More {
		fmt.Fprintln(a.Stdout, "some rule has more keys of this client than are looked for")
	}
}
